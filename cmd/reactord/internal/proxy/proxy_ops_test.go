package proxy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// opcodesOf is what the operations of package reactor submit that the daemon has: see the table in its documentation.
var opcodesOf = map[string][]uring.Op{
	"CloseOp":       {uring.OpAsyncCancel, uring.OpClose},
	"DialOp":        {uring.OpConnect},
	"OffloadOp":     {}, // a worker thread runs it
	"PollManyOp":    {uring.OpPollAdd},
	"PollOp":        {uring.OpPollAdd},
	"QuiesceOp":     {uring.OpAsyncCancel},
	"RecvFDsOp":     {uring.OpRecvmsg},
	"RecvLeaseOp":   {uring.OpRecv},
	"RecvManyOp":    {uring.OpRecv, uring.OpPollAdd},
	"RecvMsgManyOp": {uring.OpRecvmsg, uring.OpPollAdd},
	"RecvOp":        {uring.OpRecv},
	"SendFDsOp":     {uring.OpSendmsg},
	"SendMsgOp":     {uring.OpSendmsg},
	"SendOp":        {uring.OpSend},
	"SendvOp":       {uring.OpSendmsg},
}

// operations are the operations of package reactor that the daemon's source names.
func operations(t *testing.T) map[string]bool {
	t.Helper()
	named := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && strings.HasSuffix(s.Sel.Name, "Op") {
				if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "reactor" {
					named[s.Sel.Name] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return named
}

// The rings take what the daemon submits, and nothing else.
func TestOps(t *testing.T) {
	submitted := uring.NewOpSet(uring.OpNop) // every loop has it
	for name := range operations(t) {
		ops, known := opcodesOf[name]
		if !known {
			t.Errorf("reactor.%s is new here: enter its opcodes above, and into Ops", name)
		}
		for _, op := range ops {
			submitted.Add(op)
		}
	}
	for op := range submitted.Union(Ops).All() {
		switch {
		case !Ops.Has(op):
			t.Errorf("the daemon submits %s, which is not in Ops", op)
		case !submitted.Has(op):
			t.Errorf("no operation of the daemon submits %s: take it out of Ops", op)
		}
	}
}

// The loops of a proxy have the opcodes and no others, and the kernel enforces that.
func TestLoopsAreRestricted(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		p := start(t, kind, Backend{})
		for _, l := range p.Loops() {
			if c := l.Caps(); c.Ops != Ops || c.Restricted != (kind == reactor.IOUring) {
				t.Errorf("%s: %+v", l.Name(), c)
			}
		}
	})
}
