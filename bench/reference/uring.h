// What the references on io_uring have in common: one thread, one ring, and a table of descriptors.
//
//   - multishot accept, multishot receive: one submission entry arms a socket permanently
//   - receive buffers are provided in a ring that the kernel takes from, and bytes are sent from these buffers
//   - DEFER_TASKRUN: completions are made inside io_uring_enter, on this thread, in batches
//
// A program that includes it defines on_accept, on_recv, on_send and on_buffers, and calls run.
//
// Builds with liburing 2.3 and later: gcc -O2 echo_uring.c -o echo_uring -luring

#define _GNU_SOURCE

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

static struct io_uring ring;
static struct io_uring_buf_ring *group;
static char *memory;
static struct { unsigned len; unsigned short next; } buf[BUFS];
static int returned; // buffers added to the group since it was last published
static int *starved, nstarved; // descriptors whose receive ended because no buffer was left
static int max_fds, listener;

static void on_accept(struct io_uring_cqe *cqe);
static void on_recv(int fd, struct io_uring_cqe *cqe);
static void on_send(int fd, struct io_uring_cqe *cqe);
static void on_buffers(int fd); // there are buffers again for a descriptor in starved

static void die(const char *what, int err) {
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(err));
	exit(1);
}

static struct io_uring_sqe *entry(void) {
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	while (!sqe) { // the queue is full: submit it
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

// receive arms a multishot receive into buffers of the group.
static void receive(int fd) {
	struct io_uring_sqe *sqe = entry();
	io_uring_prep_recv_multishot(sqe, fd, NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	tag(sqe, RECV, fd);
}

static void give_back(unsigned short id) {
	io_uring_buf_ring_add(group, memory + (size_t)id * BUF_SIZE, BUF_SIZE, id, BUFS - 1, returned++);
}

static void publish_buffers(void) {
	if (!returned)
		return;
	io_uring_buf_ring_advance(group, returned);
	returned = 0;
	while (nstarved)
		on_buffers(starved[--nstarved]);
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
	io_uring_buf_ring_advance(group, returned);
	returned = 0;
}

// table makes an array with an element for every descriptor.
static void *table(size_t size) {
	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	max_fds = files.rlim_cur < 1 << 20 ? files.rlim_cur : 1 << 20;
	return calloc(max_fds, size);
}

// run serves at an address. It does not return.
static void run(const char *host, const char *port) {
	starved = table(sizeof *starved);
	open_listener(host, port);
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
