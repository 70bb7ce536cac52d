// echo_epoll HOST PORT: a TCP echo server on epoll(7), the second reference. One thread.
//
//   - every socket is registered once, edge-triggered, for both directions
//   - a receive that does not fill the buffer has emptied the socket, so no call is spent on EAGAIN
//   - what is received is sent at once, from the same buffer, while it is in the cache; only what the
//     socket does not take is kept, and nothing more is received until that is gone
//
// Builds with gcc -O2 echo_epoll.c -o echo_epoll

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 512, BUF_SIZE = 16384 };

// A connection lives in a table by its descriptor; rest is what its socket did not take.
struct conn {
	char *rest;
	size_t len, sent;
};

static struct conn *conns;
static int max_fds, listener, epfd;
static char buf[BUF_SIZE];

static void die(const char *what, int err) {
	fprintf(stderr, "echo_epoll: %s: %s\n", what, strerror(err));
	exit(1);
}

static void drop(int fd) {
	free(conns[fd].rest);
	conns[fd] = (struct conn){ 0 };
	close(fd); // leaves the epoll set as well
}

// flush sends what is left over; false if some still is, or if the connection is gone.
static bool flush(int fd) {
	struct conn *c = &conns[fd];
	ssize_t n = send(fd, c->rest + c->sent, c->len - c->sent, MSG_NOSIGNAL);
	if (n < 0) {
		if (errno != EAGAIN)
			drop(fd);
		return false;
	}
	c->sent += n;
	if (c->sent < c->len)
		return false;
	free(c->rest);
	*c = (struct conn){ 0 };
	return true;
}

// keep puts aside what the socket did not take; its next EPOLLOUT continues.
static void keep(int fd, const char *from, size_t len) {
	conns[fd] = (struct conn){ .rest = malloc(len), .len = len };
	memcpy(conns[fd].rest, from, len);
}

static void on_ready(int fd, unsigned events) {
	if (conns[fd].rest && !flush(fd))
		return;
	if (!(events & ~EPOLLOUT)) // epoll reports what holds now: nothing to receive
		return;
	for (;;) {
		ssize_t n = recv(fd, buf, sizeof buf, 0);
		if (n <= 0) {
			if (n == 0 || errno != EAGAIN)
				drop(fd);
			return;
		}
		ssize_t sent = send(fd, buf, n, MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN) {
			drop(fd);
			return;
		}
		if (sent < n) {
			keep(fd, buf + (sent > 0 ? sent : 0), n - (sent > 0 ? sent : 0));
			return;
		}
		// A short receive emptied the socket; the end of the stream must still be read.
		if (n < BUF_SIZE && !(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
			return;
	}
}

static void on_accept(void) {
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		if (fd >= max_fds) {
			close(fd);
			continue;
		}
		struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.fd = fd };
		if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) < 0)
			close(fd);
	}
}

static void open_listener(const char *host, const char *port) {
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	int on = 1;
	if (inet_pton(AF_INET, host, &at.sin_addr) != 1)
		die(host, EINVAL);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // accepted sockets inherit it
	if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 || listen(listener, 4096) < 0)
		die("listen", errno);
}

int main(int argc, char **argv) {
	struct rlimit files;
	if (argc != 3) {
		fprintf(stderr, "usage: echo_epoll HOST PORT\n");
		return 2;
	}
	getrlimit(RLIMIT_NOFILE, &files);
	max_fds = files.rlim_cur < 1 << 20 ? files.rlim_cur : 1 << 20;
	conns = calloc(max_fds, sizeof *conns);
	open_listener(argv[1], argv[2]);
	epfd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = listener }; // level: EMFILE must not lose it
	if (epfd < 0 || epoll_ctl(epfd, EPOLL_CTL_ADD, listener, &ev) < 0)
		die("epoll", errno);

	for (;;) {
		struct epoll_event events[EVENTS];
		int n = epoll_wait(epfd, events, EVENTS, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait", errno);
		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == listener)
				on_accept();
			else
				on_ready(events[i].data.fd, events[i].events);
		}
	}
}
