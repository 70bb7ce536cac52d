// proxy_uring HOST PORT UPSTREAM_HOST UPSTREAM_PORT: a TCP proxy on io_uring, as a reference for the proxy of
// cmd/reactord. See uring.h.
//
// Each direction has one send in flight, so that bytes stay in order. Other buffers wait in a list. It connects to the
// upstream with a blocking call, and does not bound the bytes that wait to be sent.

#include "uring.h"

// A side lives in a table by its descriptor. What is to be sent to it forms a list of buffers.
struct side {
	int peer;
	unsigned short head, tail; // buffer ids; head is the one in flight if sending
	bool sending, receiving, starved;
	bool ended;  // it sends no more
	bool ending; // it is told the end behind what waits
	bool broken; // it takes no more
};

static struct side *sides;
static struct sockaddr_in upstream;

static void arm_recv(int fd) {
	receive(fd);
	sides[fd].receiving = true;
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

static void on_buffers(int fd) {
	sides[fd].starved = false;
	arm_recv(fd);
}

int main(int argc, char **argv) {
	if (argc != 5) {
		fprintf(stderr, "usage: proxy_uring HOST PORT UPSTREAM_HOST UPSTREAM_PORT\n");
		return 2;
	}
	sides = table(sizeof *sides);
	upstream = address(argv[3], argv[4]);
	run(argv[1], argv[2]);
}
