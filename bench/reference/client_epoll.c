// A closed loop of echo clients on epoll(7), one thread, as wrk and its kin are built: level-triggered,
// a read and a write a message.
//
//	client_epoll HOST PORT CONNECTIONS SIZE SECONDS
//
// It prints the messages that came back, the seconds, and its own CPU time in nanoseconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct conn {
	int fd, got;
};

static long long now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void say(int fd, const char *p, int n)
{
	if (send(fd, p, n, MSG_NOSIGNAL) != n)
		die("send");
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	int conns = atoi(argv[3]), size = atoi(argv[4]);
	double seconds = atof(argv[5]);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
	inet_pton(AF_INET, argv[1], &to.sin_addr);
	char *message = calloc(1, size), *buf = malloc(64 << 10);
	struct conn *all = calloc(conns, sizeof *all);
	int ep = epoll_create1(0), one = 1;
	for (int i = 0; i < conns; i++) {
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &all[i]};
		all[i].fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(all[i].fd, (struct sockaddr *)&to, sizeof to))
			die("connect");
		setsockopt(all[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		epoll_ctl(ep, EPOLL_CTL_ADD, all[i].fd, &ev);
	}
	long long begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID), messages = 0;
	for (int i = 0; i < conns; i++)
		say(all[i].fd, message, size);
	while (now(CLOCK_MONOTONIC) - begin < seconds * 1e9) {
		struct epoll_event ev[256];
		int n = epoll_wait(ep, ev, 256, 100);
		for (int i = 0; i < n; i++) {
			struct conn *c = ev[i].data.ptr;
			int k = recv(c->fd, buf, 64 << 10, MSG_DONTWAIT);
			if (k <= 0 && errno != EAGAIN)
				die("recv");
			if (k > 0 && (c->got += k) >= size) {
				c->got -= size;
				messages++;
				say(c->fd, message, size);
			}
		}
	}
	printf("%lld %.3f %lld\n", messages, (now(CLOCK_MONOTONIC) - begin) / 1e9, now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	return 0;
}
