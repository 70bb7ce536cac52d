package admin

import (
	"context"
	"net"
	"os/user"
	"strconv"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

type peerKey struct{}

// withPeer lets handlers know which user of this machine has connected to a unix socket.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if limited, ok := c.(interface{ Accepted() net.Conn }); ok {
		c = limited.Accepted()
	}
	local, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return ctx
	}
	var cred *unix.Ucred
	if raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}) != nil || err != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, cred.Uid)
}

// whoOf returns who sends a request, for people: the user of its password, or of this machine, or "".
func whoOf(ctx context.Context) string {
	if by, _ := ctx.Value(requesterKey{}).(requester); by.user != "" {
		return clip(by.user)
	}
	uid, ok := ctx.Value(peerKey{}).(uint32)
	if !ok {
		return ""
	}
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return clip(u.Username)
	}
	return "uid " + id
}

// whoField returns the same as a field of the log.
func whoField(ctx context.Context) zap.Field {
	if who := whoOf(ctx); who != "" {
		return zap.String("by", who)
	}
	return zap.Skip()
}
