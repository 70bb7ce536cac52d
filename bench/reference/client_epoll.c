// A client of echo servers on epoll(7), one thread: level-triggered, a receive a wake-up, latencies into a
// histogram. It costs less than load generators in use, such as wrk, which wait for each socket to be writable
// and parse what comes. What the load generator is compared with.
//
//	client_epoll HOST PORT CONNECTIONS SIZE SECONDS DEPTH each|all RATE
//
// DEPTH messages are under way on each connection. What has come back is sent anew by a send for each
// message, or by one for all of them. With a RATE, which wants a DEPTH of
// 1, the loop is open: the k-th message is due k/RATE seconds after the start, goes over the connection
// that has been free for longest, and its latency counts from when it was due.
//
// It prints: messages, seconds, its CPU time in ns, the latency's p50, p99 and mean in ns, and for how many
// ns it was ready to run while something else had the CPU.
//
// Builds with gcc -O2 client_epoll.c -o client_epoll
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct conn {
	int fd, got, first;
	long long *sent; // when each message under way was, as a ring
};

enum { SUB = 1024, POWERS = 54 }; // the histogram is exact to a part in SUB

static int conns, size, depth, together;
static char *message;
static long long counts[POWERS * SUB], messages, sum;
static struct conn **idle; // of an open loop, as a ring
static int idle_first, idle_n;

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

// waited is the time without a CPU to run on, the second field of schedstat.
static long long waited(void)
{
	long long ran, ns = 0;
	FILE *f = fopen("/proc/self/schedstat", "r");
	if (f && fscanf(f, "%lld %lld", &ran, &ns) != 2)
		ns = 0;
	if (f)
		fclose(f);
	return ns;
}

static void record(long long ns)
{
	messages++;
	sum += ns;
	int shift = 0;
	while (ns >> shift >= 2 * SUB)
		shift++;
	counts[shift * SUB + (ns >> shift)]++;
}

static long long percentile(double q)
{
	long long want = q * messages, n = 0;
	for (long long i = 0; i < POWERS * SUB; i++)
		if ((n += counts[i]) > want)
			return i < 2 * SUB ? i : (i % SUB + SUB) << (i / SUB - 1);
	return 0;
}

static void say(int fd, int n)
{
	if (send(fd, message, n, MSG_NOSIGNAL) != n)
		die("send");
}

// say_messages sends k messages anew.
static void say_messages(struct conn *c, int k)
{
	if (together)
		say(c->fd, k * size);
	else
		for (int i = 0; i < k; i++)
			say(c->fd, size);
}

// take makes sense of n bytes that came.
static void take(struct conn *c, int n, int open)
{
	long long t = now(CLOCK_MONOTONIC);
	int whole = (c->got + n) / size;
	c->got = (c->got + n) % size;
	for (int i = 0; i < whole; i++) {
		record(t - c->sent[c->first]);
		c->sent[c->first] = t;
		c->first = (c->first + 1) % depth;
	}
	if (!open)
		say_messages(c, whole);
	else if (whole)
		idle[(idle_first + idle_n++) % conns] = c;
}

// dispatch sends what is due by t, and returns when the next message is.
static long long dispatch(long long begin, long long *k, double rate, long long t)
{
	for (;;) {
		long long due = begin + *k * 1e9 / rate;
		if (due > t || !idle_n)
			return due;
		struct conn *c = idle[idle_first];
		idle_first = (idle_first + 1) % conns;
		idle_n--;
		c->sent[0] = due;
		say(c->fd, size);
		++*k;
	}
}

static struct conn *connect_all(int ep, const char *host, const char *port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
	inet_pton(AF_INET, host, &to.sin_addr);
	struct conn *all = calloc(conns, sizeof *all);
	int one = 1;
	for (int i = 0; i < conns; i++) {
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &all[i]};
		all[i].fd = socket(AF_INET, SOCK_STREAM, 0);
		all[i].sent = calloc(depth, sizeof *all[i].sent);
		if (connect(all[i].fd, (struct sockaddr *)&to, sizeof to))
			die("connect");
		setsockopt(all[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		epoll_ctl(ep, EPOLL_CTL_ADD, all[i].fd, &ev);
	}
	return all;
}

int main(int argc, char **argv)
{
	if (argc != 9)
		return 2;
	conns = atoi(argv[3]), size = atoi(argv[4]), depth = atoi(argv[6]);
	together = !strcmp(argv[7], "all");
	double seconds = atof(argv[5]), rate = atof(argv[8]);
	char *buf = malloc(64 << 10);
	message = calloc(depth, size);
	idle = calloc(conns, sizeof *idle);
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	int ep = epoll_create1(0);
	struct conn *all = connect_all(ep, argv[1], argv[2]);
	long long wait_before = waited(), begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID), t = begin, k = 0, due = 0;
	for (int i = 0; i < conns; i++) {
		if (rate) {
			idle[idle_n++] = &all[i];
			continue;
		}
		for (int j = 0; j < depth; j++)
			all[i].sent[j] = t;
		say_messages(&all[i], depth);
	}
	for (; (t = now(CLOCK_MONOTONIC)) - begin < seconds * 1e9;) {
		struct timespec wait = {.tv_nsec = 100000000};
		// Sending takes a while: how long there is to wait counts from then.
		if (rate && (due = dispatch(begin, &k, rate, t)) - (t = now(CLOCK_MONOTONIC)) < wait.tv_nsec && idle_n)
			wait.tv_nsec = due > t ? due - t : 0;
		struct epoll_event ev[256];
		int n = epoll_pwait2(ep, ev, 256, &wait, NULL);
		for (int i = 0; i < n; i++) {
			struct conn *c = ev[i].data.ptr;
			int got = recv(c->fd, buf, 64 << 10, MSG_DONTWAIT);
			if (got == 0 || got < 0 && errno != EAGAIN)
				die("recv");
			if (got > 0)
				take(c, got, rate != 0);
		}
	}
	printf("%lld %.3f %lld %lld %lld %lld %lld\n", messages, (t - begin) / 1e9, now(CLOCK_PROCESS_CPUTIME_ID) - cpu,
	       percentile(0.5), percentile(0.99), messages ? sum / messages : 0, waited() - wait_before);
	return 0;
}
