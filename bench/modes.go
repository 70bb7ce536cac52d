package main

import (
	"context"
	"errors"
	"os"

	"github.com/alecthomas/kong"

	"github.com/reactord/reactord/bench/engine"
)

// modeCommands are the modes. Each is a mode of package engine with its options.
type modeCommands struct {
	Echo      modeCommand[engine.Echo, *engine.Echo]           `cmd:"" help:"Messages that come back, in a closed loop: each connection waits for its reply."`
	Rate      rateCommand                                      `cmd:"" help:"Messages that come back, in an open loop: they are sent when they are due, whatever the target does."`
	Connect   modeCommand[engine.Connect, *engine.Connect]     `cmd:"" help:"Connections that are opened and closed, optionally with a message."`
	Stream    modeCommand[engine.Stream, *engine.Stream]       `cmd:"" help:"Bulk data up, down or both ways."`
	Hold      modeCommand[engine.Hold, *engine.Hold]           `cmd:"" help:"Connections that stay open: how fast they open, what they cost, whether they stay."`
	UDP       modeCommand[engine.UDP, *engine.UDP]             `cmd:"" name:"udp" help:"Datagrams that come back: loss, reordering, duplicates."`
	Slow      modeCommand[engine.Slow, *engine.Slow]           `cmd:"" help:"Messages that are written or read a few bytes at a time."`
	HalfClose modeCommand[engine.HalfClose, *engine.HalfClose] `cmd:"" name:"halfclose" help:"Half-close after a message, and expect every byte back."`
	HTTP      modeCommand[engine.HTTP, *engine.HTTP]           `cmd:"" name:"http" help:"HTTP/1.1, keep-alive and pipelined."`
	Redis     modeCommand[engine.Redis, *engine.Redis]         `cmd:"" help:"RESP: PING, SET, GET."`
	Mix       mixCommand                                       `cmd:"" help:"Several of these modes together, from a scenario file."`
	Soak      soakCommand                                      `cmd:"" set:"connections=100" set:"connections_help=Connections that stay open." set:"time=1m" set:"rate=300" help:"Many kinds of connections, for a long time. Fails if the target grows."` //nolint:staticcheck // kong takes several of "set"
}

// modeCommand is the command of a mode of type M.
type modeCommand[M any, P interface {
	*M
	engine.Mode
}] struct {
	loadFlags
	Options M `embed:""`
}

// Run generates the load. The part has the name of the command.
func (c *modeCommand[M, P]) Run(ctx context.Context, command *kong.Context) error {
	name := command.Selected().Name
	return c.run(ctx, name, engine.Part{Name: name, Mode: P(&c.Options)})
}

type rateCommand struct {
	modeCommand[engine.Echo, *engine.Echo]
}

func (c *rateCommand) Run(ctx context.Context, command *kong.Context) error {
	if c.Rate == 0 && len(c.Step) == 0 && c.FindMax == "" {
		return errors.New("rate needs --rate, --step or --find-max")
	}
	return c.modeCommand.Run(ctx, command)
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
