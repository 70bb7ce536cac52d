// proxy_uring HOST PORT UPSTREAM_HOST UPSTREAM_PORT: a TCP proxy on io_uring, the reference that the
// proxy of cmd/reactord is measured against. One thread, one ring.
//
//   - multishot accept, multishot receive: one submission entry arms a socket for good
//   - receive buffers are provided in a ring that the kernel takes from, and sent from as they are
//   - DEFER_TASKRUN: completions are made inside io_uring_enter, on this thread, in batches
//   - one send in flight a direction, so that bytes stay in order; more of them wait in a list
//
// It connects to the upstream with a call that waits, and does not limit what waits to be sent.
//
// Builds with liburing 2.3 and later: gcc -O2 proxy_uring.c -o proxy_uring -luring

#include <arpa/inet.h>
#include <errno.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	ENTRIES = 512,      // submission queue
	COMPLETIONS = 4096, // completion queue; multishot entries complete more often than they are submitted
	BUFS = 256,         // a power of two; few, so that they stay in the cache
	BUF_SIZE = 16384,
	GROUP = 0,
	NONE = 0xffff,
};

enum { ACCEPT, RECV, SEND };

// A side lives in a table by its descriptor. What is to be sent to it forms a list of buffers.
struct side {
	int peer;
	unsigned short head, tail; // buffer ids; head is the one in flight if sending
	bool sending, receiving, starved;
	bool ended;  // it sends no more
	bool ending; // it is told the end behind what waits
	bool broken; // it takes no more
};

static struct io_uring ring;
static struct io_uring_buf_ring *group;
static char *memory;
static struct { unsigned len; unsigned short next; } buf[BUFS];
static int returned; // buffers added to the group since it was last published
static struct side *sides;
static int *starved, nstarved; // sides whose receive ended for want of a buffer
static int max_fds, listener;
static struct sockaddr_in upstream;

static void die(const char *what, int err) {
	fprintf(stderr, "proxy_uring: %s: %s\n", what, strerror(err));
	exit(1);
}

static struct io_uring_sqe *entry(void) {
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	while (!sqe) { // the queue is full: hand it over, then there is room
		io_uring_submit(&ring);
		sqe = io_uring_get_sqe(&ring);
	}
	return sqe;
}

// tag names an entry in its completion: the prep functions clear user_data, so it comes after them.
static void tag(struct io_uring_sqe *sqe, int op, int fd) {
	io_uring_sqe_set_data64(sqe, (__u64)op << 32 | (unsigned)fd);
}

static void arm_accept(void) {
	struct io_uring_sqe *sqe = entry();
	io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, SOCK_CLOEXEC);
	tag(sqe, ACCEPT, listener);
}

static void arm_recv(int fd) {
	struct io_uring_sqe *sqe = entry();
	io_uring_prep_recv_multishot(sqe, fd, NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	tag(sqe, RECV, fd);
	sides[fd].receiving = true;
}

static void give_back(unsigned short id) {
	io_uring_buf_ring_add(group, memory + (size_t)id * BUF_SIZE, BUF_SIZE, id, BUFS - 1, returned++);
}

static void send_head(int fd) {
	struct side *s = &sides[fd];
	struct io_uring_sqe *sqe = entry();
	// MSG_WAITALL: the kernel itself continues a send that was cut short.
	io_uring_prep_send(sqe, fd, memory + (size_t)s->head * BUF_SIZE, buf[s->head].len, MSG_WAITALL | MSG_NOSIGNAL);
	tag(sqe, SEND, fd);
	s->sending = true;
}

// pop returns the buffer at the head of the list.
static void pop(struct side *s) {
	unsigned short id = s->head;
	s->head = buf[id].next;
	give_back(id);
}

static bool quiet(const struct side *s) {
	return (s->ended || s->broken) && !s->sending && !s->receiving && !s->starved && s->head == NONE;
}

// settle passes an end on once nothing waits ahead of it, and closes a pair that is done.
static void settle(int fd) {
	struct side *s = &sides[fd], *p = &sides[s->peer];
	if (s->ending && s->head == NONE && !s->broken) {
		s->ending = false;
		shutdown(fd, SHUT_WR);
	}
	if (quiet(s) && quiet(p)) {
		close(s->peer);
		close(fd);
	}
}

// give_up makes both sides of a pair end.
static void give_up(int fd) {
	int both[] = { fd, sides[fd].peer };
	for (int i = 0; i < 2; i++) {
		sides[both[i]].broken = true;
		shutdown(both[i], SHUT_RDWR);
	}
}

static void on_accept(struct io_uring_cqe *cqe) {
	int fd = cqe->res, on = 1;
	if (fd >= 0) {
		int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= max_fds || peer < 0 || peer >= max_fds || connect(peer, (struct sockaddr *)&upstream, sizeof upstream) < 0) {
			close(fd);
			if (peer >= 0)
				close(peer);
		} else {
			setsockopt(peer, SOL_TCP, TCP_NODELAY, &on, sizeof on);
			sides[fd] = (struct side){ .peer = peer, .head = NONE, .tail = NONE };
			sides[peer] = (struct side){ .peer = fd, .head = NONE, .tail = NONE };
			arm_recv(fd);
			arm_recv(peer);
		}
	}
	if (!(cqe->flags & IORING_CQE_F_MORE))
		arm_accept();
}

static void on_recv(int fd, struct io_uring_cqe *cqe) {
	struct side *s = &sides[fd], *to = &sides[s->peer];
	if (cqe->res > 0) {
		unsigned short id = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
		buf[id].len = cqe->res;
		buf[id].next = NONE;
		if (to->broken) {
			give_back(id);
		} else {
			if (to->head == NONE)
				to->head = id;
			else
				buf[to->tail].next = id;
			to->tail = id;
			if (!to->sending)
				send_head(s->peer);
		}
	}
	if (cqe->flags & IORING_CQE_F_MORE)
		return;
	s->receiving = false;
	if (cqe->res == -ENOBUFS) { // armed again when a buffer is back
		s->starved = true;
		starved[nstarved++] = fd;
	} else if (cqe->res > 0) {
		arm_recv(fd);
	} else {
		s->ended = to->ending = true;
		if (cqe->res < 0)
			give_up(fd);
		settle(s->peer);
	}
}

static void on_send(int fd, struct io_uring_cqe *cqe) {
	struct side *s = &sides[fd];
	bool whole = cqe->res == (int)buf[s->head].len;
	s->sending = false;
	pop(s);
	if (!whole) {
		while (s->head != NONE)
			pop(s);
		give_up(fd);
	}
	if (s->head != NONE)
		send_head(fd);
	else
		settle(fd);
}

static void publish_buffers(void) {
	if (!returned)
		return;
	io_uring_buf_ring_advance(group, returned);
	returned = 0;
	while (nstarved) {
		int fd = starved[--nstarved];
		sides[fd].starved = false;
		arm_recv(fd);
	}
}

static struct sockaddr_in address(const char *host, const char *port) {
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	if (inet_pton(AF_INET, host, &at.sin_addr) != 1)
		die(host, EINVAL);
	return at;
}

static void open_listener(const char *host, const char *port) {
	struct sockaddr_in at = address(host, port);
	int on = 1;
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(listener, SOL_TCP, TCP_NODELAY, &on, sizeof on); // accepted sockets inherit it
	if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 || listen(listener, 4096) < 0)
		die("listen", errno);
}

static void open_ring(void) {
	struct io_uring_params p = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL |
			 IORING_SETUP_CQSIZE,
		.cq_entries = COMPLETIONS,
	};
	int err = io_uring_queue_init_params(ENTRIES, &ring, &p);
	if (err < 0)
		die("io_uring_queue_init_params", -err);
	io_uring_register_ring_fd(&ring);

	struct io_uring_buf_reg reg = { .ring_entries = BUFS, .bgid = GROUP };
	group = aligned_alloc(4096, BUFS * sizeof(struct io_uring_buf));
	memory = aligned_alloc(4096, (size_t)BUFS * BUF_SIZE);
	reg.ring_addr = (unsigned long)group;
	io_uring_buf_ring_init(group);
	err = io_uring_register_buf_ring(&ring, &reg, 0);
	if (err < 0)
		die("io_uring_register_buf_ring", -err);
	for (int id = 0; id < BUFS; id++)
		give_back(id);
	publish_buffers();
}

int main(int argc, char **argv) {
	struct rlimit files;
	if (argc != 5) {
		fprintf(stderr, "usage: proxy_uring HOST PORT UPSTREAM_HOST UPSTREAM_PORT\n");
		return 2;
	}
	getrlimit(RLIMIT_NOFILE, &files);
	max_fds = files.rlim_cur < 1 << 20 ? files.rlim_cur : 1 << 20;
	sides = calloc(max_fds, sizeof *sides);
	starved = calloc(max_fds, sizeof *starved);
	upstream = address(argv[3], argv[4]);
	open_listener(argv[1], argv[2]);
	open_ring();
	arm_accept();

	for (;;) {
		struct io_uring_cqe *cqe;
		unsigned head, seen = 0;
		int err = io_uring_submit_and_wait(&ring, 1);
		if (err < 0 && err != -EINTR && err != -EBUSY)
			die("io_uring_submit_and_wait", -err);
		io_uring_for_each_cqe(&ring, head, cqe) {
			int fd = cqe->user_data & 0xffffffff;
			switch (cqe->user_data >> 32) {
			case ACCEPT: on_accept(cqe); break;
			case RECV:   on_recv(fd, cqe); break;
			case SEND:   on_send(fd, cqe); break;
			}
			seen++;
		}
		io_uring_cq_advance(&ring, seen);
		publish_buffers();
	}
}
