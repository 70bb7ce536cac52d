package main

import (
	"context"
	"errors"
	"os"

	"github.com/reactord/reactord/bench/engine"
)

// modeCommands are the kinds of load; each is a mode of package engine with its options.
type modeCommands struct {
	Echo      echoCommand      `cmd:"" help:"Messages that come back, a closed loop: each connection waits for its reply."`
	Rate      rateCommand      `cmd:"" help:"Messages that come back, an open loop: sent when they are due, whatever the target does."`
	Connect   connectCommand   `cmd:"" help:"Connections a second: open, perhaps a message, close."`
	Stream    streamCommand    `cmd:"" help:"Bulk, up, down or both ways."`
	Hold      holdCommand      `cmd:"" help:"Connections that stay: how fast they are set up, what they cost, whether they last."`
	UDP       udpCommand       `cmd:"" name:"udp" help:"Datagrams that come back: loss, reordering, duplicates."`
	Slow      slowCommand      `cmd:"" help:"Messages that come a few bytes at a time."`
	HalfClose halfCloseCommand `cmd:"" name:"halfclose" help:"End one direction, and expect all of the other."`
	HTTP      httpCommand      `cmd:"" name:"http" help:"HTTP/1.1, keep-alive and pipelined."`
	Redis     redisCommand     `cmd:"" help:"RESP: PING, SET, GET."`
	Mix       mixCommand       `cmd:"" help:"Several of these at once, from a scenario file."`
}

type echoCommand struct {
	loadFlags
	engine.Echo
}

func (c *echoCommand) Run(ctx context.Context) error {
	return c.run(ctx, "echo", engine.Part{Name: "echo", Mode: &c.Echo})
}

type rateCommand struct {
	loadFlags
	engine.Echo
}

func (c *rateCommand) Run(ctx context.Context) error {
	if c.Rate == 0 && len(c.Step) == 0 && c.FindMax == "" {
		return errors.New("rate needs --rate, --step or --find-max")
	}
	return c.run(ctx, "rate", engine.Part{Name: "rate", Mode: &c.Echo})
}

type connectCommand struct {
	loadFlags
	engine.Connect
}

func (c *connectCommand) Run(ctx context.Context) error {
	return c.run(ctx, "connect", engine.Part{Name: "connect", Mode: &c.Connect})
}

type streamCommand struct {
	loadFlags
	engine.Stream
}

func (c *streamCommand) Run(ctx context.Context) error {
	return c.run(ctx, "stream", engine.Part{Name: "stream", Mode: &c.Stream})
}

type holdCommand struct {
	loadFlags
	engine.Hold
}

func (c *holdCommand) Run(ctx context.Context) error {
	return c.run(ctx, "hold", engine.Part{Name: "hold", Mode: &c.Hold})
}

type udpCommand struct {
	loadFlags
	engine.UDP
}

func (c *udpCommand) Run(ctx context.Context) error {
	return c.run(ctx, "udp", engine.Part{Name: "udp", Mode: &c.UDP})
}

type slowCommand struct {
	loadFlags
	engine.Slow
}

func (c *slowCommand) Run(ctx context.Context) error {
	return c.run(ctx, "slow", engine.Part{Name: "slow", Mode: &c.Slow})
}

type halfCloseCommand struct {
	loadFlags
	engine.HalfClose
}

func (c *halfCloseCommand) Run(ctx context.Context) error {
	return c.run(ctx, "halfclose", engine.Part{Name: "halfclose", Mode: &c.HalfClose})
}

type httpCommand struct {
	loadFlags
	engine.HTTP
}

func (c *httpCommand) Run(ctx context.Context) error {
	return c.run(ctx, "http", engine.Part{Name: "http", Mode: &c.HTTP})
}

type redisCommand struct {
	loadFlags
	engine.Redis
}

func (c *redisCommand) Run(ctx context.Context) error {
	return c.run(ctx, "redis", engine.Part{Name: "redis", Mode: &c.Redis})
}

type mixCommand struct {
	loadFlags
	Scenario string `arg:"" type:"existingfile" help:"A YAML file: parts with mode, weight and options."`
}

func (c *mixCommand) Run(ctx context.Context) error {
	text, err := os.ReadFile(c.Scenario)
	if err != nil {
		return err
	}
	parts, err := engine.ParseScenario(text)
	if err != nil {
		return err
	}
	return c.run(ctx, "mix", parts...)
}
