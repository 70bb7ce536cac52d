// reply_epoll HOST PORT MARK REPLY: a TCP server on epoll(7) that sends REPLY for each MARK that comes, of which
// each request has one. It costs as little as can be: what load generators of other protocols than echo are
// measured at.
//
// Builds with gcc -O2 reply_epoll.c -o reply_epoll
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 512, MAX_FDS = 1 << 16, BUF_SIZE = 1 << 16 };

static int listener, epfd, mark_len, reply_len;
static unsigned char seen[MAX_FDS]; // by descriptor: how much of MARK has come last
static char *mark, *replies, buf[BUF_SIZE];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

// requests counts the marks that are whole with the n bytes of buf. No mark begins within another.
static int requests(int fd, int n)
{
	int marks = 0, at = seen[fd];
	for (int i = 0; i < n; i++) {
		at = buf[i] == mark[at] ? at + 1 : buf[i] == mark[0];
		if (at == mark_len)
			at = 0, marks++;
	}
	seen[fd] = at;
	return marks;
}

static void on_ready(int fd)
{
	int n = recv(fd, buf, BUF_SIZE, 0);
	if (n <= 0) {
		close(fd);
		return;
	}
	int len = requests(fd, n) * reply_len;
	if (len && send(fd, replies, len, MSG_NOSIGNAL) != len)
		close(fd); // so many replies are not waited for by any client that is measured
}

static void on_accept(void)
{
	for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
		struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
		if (fd >= MAX_FDS || epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) < 0) {
			close(fd);
			continue;
		}
		seen[fd] = 0;
	}
}

static void open_listener(const char *host, const char *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
	int on = 1;
	inet_pton(AF_INET, host, &at.sin_addr);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // accepted sockets inherit it
	if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 || listen(listener, 4096) < 0)
		die("listen");
}

int main(int argc, char **argv)
{
	if (argc != 5 || !*argv[3])
		return 2;
	mark = argv[3], mark_len = strlen(mark), reply_len = strlen(argv[4]);
	replies = malloc((size_t)BUF_SIZE * reply_len);
	for (int i = 0; i < BUF_SIZE; i++)
		memcpy(replies + (size_t)i * reply_len, argv[4], reply_len);
	open_listener(argv[1], argv[2]);
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = listener}, events[EVENTS];
	if ((epfd = epoll_create1(EPOLL_CLOEXEC)) < 0 || epoll_ctl(epfd, EPOLL_CTL_ADD, listener, &ev) < 0)
		die("epoll");
	for (;;) {
		int n = epoll_wait(epfd, events, EVENTS, -1);
		for (int i = 0; i < n; i++)
			events[i].data.fd == listener ? on_accept() : on_ready(events[i].data.fd);
	}
}
