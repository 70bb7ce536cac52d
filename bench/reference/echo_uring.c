// echo_uring HOST PORT: a TCP echo server on io_uring, as a reference for package reactor. See uring.h.
//
// Each connection has one send in flight, so that bytes stay in order. Other buffers wait in a list.

#include "uring.h"

// A connection lives in a table by its descriptor. Buffers that wait to be sent form a list.
struct conn {
	unsigned short head, tail; // buffer ids; head is the one in flight if sending
	bool sending, receiving, ending, starved;
};

static struct conn *conns;

static void arm_recv(int fd) {
	receive(fd);
	conns[fd].receiving = true;
}

static void send_head(int fd) {
	struct conn *c = &conns[fd];
	struct io_uring_sqe *sqe = entry();
	// MSG_WAITALL: the kernel itself continues a send that was cut short.
	io_uring_prep_send(sqe, fd, memory + (size_t)c->head * BUF_SIZE, buf[c->head].len, MSG_WAITALL);
	tag(sqe, SEND, fd);
	c->sending = true;
}

// finish closes a connection once the kernel holds nothing of it any more.
static void finish(int fd) {
	struct conn *c = &conns[fd];
	if (c->ending && !c->sending && !c->receiving && !c->starved)
		close(fd);
}

// pop returns the buffer at the head of the list.
static void pop(struct conn *c) {
	unsigned short id = c->head;
	c->head = buf[id].next;
	give_back(id);
}

static void on_accept(struct io_uring_cqe *cqe) {
	if (cqe->res >= max_fds) {
		close(cqe->res);
	} else if (cqe->res >= 0) {
		conns[cqe->res] = (struct conn){ .head = NONE, .tail = NONE };
		arm_recv(cqe->res);
	}
	if (!(cqe->flags & IORING_CQE_F_MORE))
		arm_accept();
}

static void on_recv(int fd, struct io_uring_cqe *cqe) {
	struct conn *c = &conns[fd];
	if (cqe->res > 0) {
		unsigned short id = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
		buf[id].len = cqe->res;
		buf[id].next = NONE;
		if (c->head == NONE)
			c->head = id;
		else
			buf[c->tail].next = id;
		c->tail = id;
		if (!c->sending)
			send_head(fd);
	}
	if (cqe->flags & IORING_CQE_F_MORE)
		return;
	c->receiving = false;
	if (cqe->res == -ENOBUFS) { // armed again when a buffer is back
		c->starved = true;
		starved[nstarved++] = fd;
	} else if (cqe->res > 0 && !c->ending) {
		arm_recv(fd);
	} else {
		c->ending = true;
		finish(fd);
	}
}

static void on_send(int fd, struct io_uring_cqe *cqe) {
	struct conn *c = &conns[fd];
	bool whole = cqe->res == (int)buf[c->head].len;
	c->sending = false;
	pop(c);
	if (!whole) { // the peer is gone: drop the rest, and make the receive end
		while (c->head != NONE)
			pop(c);
		c->ending = true;
		shutdown(fd, SHUT_RDWR);
	}
	if (c->head != NONE)
		send_head(fd);
	else
		finish(fd);
}

static void on_buffers(int fd) {
	conns[fd].starved = false;
	if (conns[fd].ending)
		finish(fd);
	else
		arm_recv(fd);
}

int main(int argc, char **argv) {
	if (argc != 3) {
		fprintf(stderr, "usage: echo_uring HOST PORT\n");
		return 2;
	}
	conns = table(sizeof *conns);
	run(argv[1], argv[2]);
}
