package main

import (
	"context"
	"time"
)

// A method is what a case compares, and how it is measured.
type method struct {
	Unit   string // of the figure
	Speed  string `json:"-"` // the unit of the rate that is shown next to the figure; "": none is
	Rounds int    `json:"-"` // in which it is measured, at most; 0: in all

	measure func(ctx context.Context, w *workshop, c *benchCase, p *peer, d time.Duration) (*sample, error)
}

// memoryRounds is the number of rounds of methods that measure memory, which hardly varies.
const memoryRounds = 3

var (
	messageTime      = method{Unit: "CPU µs/message", Speed: "messages/s", measure: measureMessages}
	connectionTime   = method{Unit: "CPU µs/connection", Speed: "connections/s", measure: measureMessages}
	datagramTime     = method{Unit: "CPU µs/message", Speed: "messages/s", measure: measureDatagrams}
	bulkTime         = method{Unit: "CPU ms/GiB", Speed: "MiB/s", measure: measureBulk}
	connectionMemory = method{Unit: "KiB/connection", Rounds: memoryRounds, measure: measureIdle}
	pairMemory       = method{Unit: "KiB/pair", Rounds: memoryRounds, measure: measureIdle}
	startMemory      = method{Unit: "MB", Rounds: memoryRounds, measure: measureStartMemory}
	startTime        = method{Unit: "ms", measure: measureStartTime}
)
