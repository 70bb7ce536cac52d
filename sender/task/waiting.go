package task

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// ErrAbandoned is the error that an [AbandonedError] matches.
var ErrAbandoned = errors.New("tasks were abandoned")

// AbandonedError names tasks that were requested to stop, did not end in time, and were abandoned: see "The end of a
// scheduler" in the documentation of the package. It matches [ErrAbandoned].
type AbandonedError struct {
	Tasks int       // how many they are
	At    []Waiting // the places where they waited, each once, at most 8 of them
}

// maxPlaces is how many places an AbandonedError names.
const maxPlaces = 8

// Add counts a task.
func (e *AbandonedError) Add(w Waiting) {
	e.Tasks++
	w.Operation = nil
	if len(e.At) < maxPlaces && !slices.Contains(e.At, w) {
		e.At = append(e.At, w)
	}
}

// Merge adds the tasks of another error.
func (e *AbandonedError) Merge(other *AbandonedError) {
	n := e.Tasks + other.Tasks
	for _, w := range other.At {
		e.Add(w)
	}
	e.Tasks = n
}

// Error implements error.
func (e *AbandonedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tasks did not end when they were requested to stop, and were abandoned", e.Tasks)
	for i, w := range e.At {
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		b.WriteString(w.String())
	}
	return b.String()
}

// Unwrap returns [ErrAbandoned].
func (e *AbandonedError) Unwrap() error { return ErrAbandoned }

// Waiting describes where a suspended task waits, and for what.
type Waiting struct {
	// For is the kind of what the task awaits: the name of the operation state without Op, such as "Recv" or "Sleep"; or
	// "ready", if nothing is known of it.
	For string
	// Operation points to the operation state; nil if it has completed, and the task is about to be resumed.
	Operation any
	// Where is the line of the program that awaits. Frames of this module's packages below it, and of the standard
	// library, are skipped: it is where the program called Read, say, and not the Await inside of that.
	Where runtime.Frame
}

// String returns what is awaited, and where, on one line.
func (w Waiting) String() string {
	if w.Where.File == "" {
		return w.For
	}
	return fmt.Sprintf("%s at %s:%d (%s)", w.For, w.Where.File, w.Where.Line, w.Where.Function)
}

// Waiting calls f for each task of the pool that is suspended, the oldest first, until f returns false. It resumes each
// of them for a moment, so that it looks at its own stack: an Await notes nothing for that. f must neither start a task
// nor let one end.
//
// It is called on the scheduler's goroutine, or by the function of a task that runs there.
func (p *CoroutinePool) Waiting(f func(Waiting) bool) {
	for l := p.busy.Last(); l != nil; {
		co := coroutineOf(l)
		l = l.Prev()
		if co.t != nil && !co.t.running && !f(co.waiting()) {
			return
		}
	}
}

// Waiting returns where the task waits. It is called as [CoroutinePool.Waiting]. ok reports whether the task is
// suspended on a CoroutineScheduler.
func (op *Op) Waiting() (w Waiting, ok bool) {
	co := op.t.co
	if co == nil || co.pool == nil || op.t.running {
		return Waiting{}, false
	}
	return co.waiting(), true
}

// Abandon ends a task that was requested to stop and has not ended, as the end of its scheduler does: the function is
// unwound, and the task has completed when Abandon returns. It reports whether there was one to abandon: that has
// begun, is suspended, and runs on a CoroutineScheduler. It is called by the scheduler's work, and not by a task.
//
// An operation that the task awaits may still be in flight then: its result is dropped.
func (op *Op) Abandon() bool {
	if co := op.t.co; co == nil || co.pool == nil || op.t.running {
		return false
	}
	op.t.abandon(nil)
	return true
}

// inspection is a look at the stack of a suspended coroutine.
type inspection struct {
	pcs [32]uintptr
	n   int
}

// pause makes resume return, and returns when the task is resumed. Meanwhile it looks at its own stack when it is asked
// to.
func (co *coroutine) pause() {
	for co.yield(struct{}{}); co.inspection != nil; co.yield(struct{}{}) {
		co.inspection.look()
	}
}

//go:noinline
func (i *inspection) look() { i.n = runtime.Callers(3, i.pcs[:]) }

// waiting returns where the coroutine, which is suspended, waits.
func (co *coroutine) waiting() Waiting {
	w := Waiting{For: "ready"}
	if a := co.t.wait; a != nil {
		w.For, w.Operation = a.operation()
		if atomic.LoadUint32(&a.state) == awaitCompleted {
			w.Operation = nil
		}
	}
	i := &inspection{}
	co.inspection = i
	before := co.pool.current
	co.pool.current = co.goroutine
	co.resumePull()
	co.pool.current = before
	co.inspection = nil
	w.Where = userFrame(i.pcs[:i.n])
	return w
}

// userFrame returns the innermost frame that is neither of this module's libraries nor of the standard library.
func userFrame(pcs []uintptr) (user runtime.Frame) {
	frames := runtime.CallersFrames(pcs)
	for more := len(pcs) > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case isLibrary(f):
		case !isStandard(f):
			return f
		case user.File == "":
			user = f
		}
	}
	return user
}

// libraries are the packages, and trees of packages, whose awaits count as their callers'.
var libraries = []string{"sender", "sender/", "reactor", "reactor/netconn", "reactor/server"}

const module = "github.com/reactord/reactord/"

func isLibrary(f runtime.Frame) bool {
	name, ours := strings.CutPrefix(packageOf(f.Function), module)
	if !ours || strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	for _, p := range libraries {
		if name == p || strings.HasSuffix(p, "/") && strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// standardRoot is the prefix of the files of the standard library; "" in a program that was built with -trimpath.
var standardRoot = func() string {
	_, file, _, _ := runtime.Caller(0)
	if f := runtime.FuncForPC(reflect.ValueOf(strings.Cut).Pointer()); f != nil {
		file, _ = f.FileLine(f.Entry())
	}
	root, _, _ := strings.Cut(file, "strings/")
	return root
}()

func isStandard(f runtime.Frame) bool {
	if standardRoot != "" {
		return strings.HasPrefix(f.File, standardRoot)
	}
	p := packageOf(f.Function)
	first, _, _ := strings.Cut(p, "/")
	return p != "main" && !strings.Contains(first, ".")
}

// packageOf returns the path of a function's package.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	if bracket := strings.IndexByte(function, '['); bracket >= 0 && bracket < slash { // a path in a type argument
		slash = strings.LastIndexByte(function[:bracket], '/') + 1
	}
	dot := strings.IndexByte(function[slash:], '.')
	if dot < 0 {
		return function
	}
	return function[:slash+dot]
}

// awaitKinds are the types of awaited operations, so that an await needs two bytes to tell its own.
var awaitKinds struct {
	mu    sync.Mutex
	types []awaitKind
	index map[reflect.Type]uint16
}

// awaitKind is a type of awaited.
type awaitKind struct {
	op     reflect.Type
	offset uintptr // of the field op
}

// kindOf returns the kind of an awaited of type t whose operation state is at the offset given. 0: there are too many.
func kindOf(t, op reflect.Type, offset uintptr) uint16 {
	k := &awaitKinds
	k.mu.Lock()
	defer k.mu.Unlock()
	if i, known := k.index[t]; known {
		return i
	}
	if k.index == nil {
		k.index, k.types = map[reflect.Type]uint16{}, []awaitKind{{}}
	}
	if len(k.types) > int(^uint16(0)) {
		return 0
	}
	i := uint16(len(k.types))
	k.types = append(k.types, awaitKind{op, offset})
	k.index[t] = i
	return i
}

// operation returns the name of the awaited operation, and a pointer to its state.
func (w *await) operation() (name string, op any) {
	if w.kind == 0 {
		return "operation", nil
	}
	awaitKinds.mu.Lock()
	k := awaitKinds.types[w.kind]
	awaitKinds.mu.Unlock()
	name = k.op.Name()
	if bracket := strings.IndexByte(name, '['); bracket >= 0 {
		name = name[:bracket]
	}
	if name = strings.TrimSuffix(name, "Op"); name == "" {
		name = "operation"
	}
	return name, reflect.NewAt(k.op, unsafe.Add(unsafe.Pointer(w), k.offset)).Interface()
}
