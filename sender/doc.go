// Package sender is the sender/receiver model of asynchronous work, in Go and without allocation.
//
// A Sender describes work that has not begun. Connect ties it to a Receiver, which is the continuation,
// by initialising an operation state in storage that the caller owns; Start on that state begins the
// work. Algorithms take senders and make senders, and the state of the one holds the states of the
// others by value, so that a whole tree of work is one flat struct: it is laid out at compile time and
// can be embedded in a connection, say, and be used again and again.
//
// # The contract of an operation
//
//   - Connect has no effect that can be seen from outside. Nothing completes before Start.
//   - Start cannot fail. Exactly one completion per Start is called on the receiver: SetValue, SetError
//     or SetStopped. It may be called inside Start, and on any thread; each sender says which.
//   - When the completion is called the operation is idle: nothing of it touches the operation state
//     or the receiver any more, but for the frames that are already returning. The receiver may overwrite
//     the state, or connect and start it again, from inside the call.
//   - From Connect until the completion the operation state stays where it is and is not copied.
//   - The operations of this package may also be started again without connecting them anew, if their
//     children may.
//   - A stop request is a wish. An operation that succeeds in spite of it delivers its value: a result
//     is never thrown away because of a stop. To be stopped is not an error and has its own channel.
//   - An algorithm that starts several children joins them all before it completes. It completes on
//     the thread of the child that completed last, unless it says otherwise.
//   - A user's function that panics inside an algorithm completes it with a *PanicError, and so does the
//     Connect of a sender that an algorithm connects while it runs. A receiver does not panic.
//
// # Environments
//
// A receiver's Env tells those below it whether the result is still wanted (a stop.Token), where work
// should be done (a Scheduler), and whatever else is asked by key. Every algorithm forwards it; those
// that stop their children put their own stop token in place of the receiver's, and forward its request.
//
// # What there is
//
//   - Factories: [Just], [JustError], [JustStopped], [FromFunc], [ReadEnv], [Schedule], [ScheduleAt],
//     [ScheduleAfter].
//   - One after another: [Then], [UponError], [UponStopped], [Let], [LetError], [LetStopped], [Sequence],
//     [Finally], [Fallback], [Repeat], [RepeatUntil], [Retry], [RetryAfter], [Bulk].
//   - At once: [WhenAll], [WhenAny], [StopWhen], [Timeout], [Split].
//   - Where: [StartsOn], [ContinuesOn], [AffineOn]; [CompletionOf] tells where a sender completes.
//   - The environment: [WriteEnv], [Unstoppable], [FromContext], [ToContext].
//   - Changing channels and types: [IntoOptional], [IntoResult], [Erase].
//   - Consumers: [SyncWait], [AsFuture], [Spawn] and [SpawnFuture] into a [CountingScope], [Submit],
//     [StartDetached], [Execute].
//   - For algorithms and resources of one's own: [Group], [Complete], [WorkQueue].
//
// Below this package, stop has stop tokens, sched schedulers and run loops, seq sequences of items, task
// coroutines, and sendertest the suite that holds any sender to the contract.
//
// Connect and Start allocate nothing, but for what says so: the slice forms, Erase, FromContext and the
// consumers.
//
// # How it is written in Go
//
// The type of the operation state is a type parameter O of its sender, and P is *O with its Start
// method. Callers write none of that: all type parameters are inferred.
//
//	s := sender.Then(sender.Just(20), func(n int) string { return strconv.Itoa(n + 1) })
//	text, err := sender.SyncWait(ctx, s)
//
// An operation plays several receivers by named pointer types over its struct, which costs nothing,
// where closures would allocate.
//
// Source: D2006R1 (connect and start as basis operations), P2300R10 (std::execution), P1525R1
// (schedulers), P3552R3 (tasks), P3149R9 (scopes), P1677R2 (cancellation is serendipitous success).
//
// # Where the concepts of the papers are
//
// D2006R1 and P2006R0: connect and start:
//
//	sender, receiver, operation state         Sender, Receiver, Operation
//	connect(sender, receiver)                 Sender.Connect(op, r); into storage that the caller owns,
//	                                          where C++ returns the state
//	start(operation)                          Operation.Start
//	set_value, set_error, set_done            SetValue, SetError, SetStopped
//	the receiver contract                     package sendertest: Check; on every sender of this module
//	submit(sender, receiver)                  Submit; the default algorithm; the garbage collector does what
//	                                          submit-receiver does
//	exceptions out of connect                 a panic of Connect; the caller's, or an error if an algorithm
//	                                          connects while it runs
//	transform (App. A, examples 1–3)          Then
//	sequence (App. B, example 3)              Sequence, to Sequence5, SequenceSlice; no allocation; the
//	                                          second is connected when the first has completed
//	get_return_object, awaitables as senders  none: Go has no awaitables; package task awaits senders
//	noexcept, move-only, value categories     none: Go has neither; a sender is a value that may be
//	                                          connected often
//	executor, bulk_execute, properties        none: superseded by schedulers; Bulk is the algorithm
//
// P1525R1: schedulers instead of executors:
//
//	as_future, to_future (App. D)             AsFuture, Future; a channel, or Get with a context
//	fallback (App. B)                         Fallback
//	retry on another context                  Retry, RetryAfter, LetError
//	via                                       StartsOn, ContinuesOn
//	set_done of abandoned work                Runner.Abandon
//
// The article on sender factories, and the schedulers of P1525R1 and P3552R3:
//
//	just_42 (article)                         TestJust42 of sched; a sender and a receiver written by hand;
//	                                          SyncWait of it
//	scheduler concept, schedule() (article,   sender.Scheduler, sender.Schedule; the basis operation is
//	P1525R1 §1.2.6)                           Enqueue of caller-owned work; Schedule is the sender over it
//	timed_scheduler_t: now, schedule_at,      sender.TimedScheduler (Clock, EnqueueAt), sender.ScheduleAt,
//	schedule_after (article)                  sender.ScheduleAfter; int64 ns on the resource's monotonic
//	                                          clock; the deadline of ScheduleAfter is computed by Start
//	get_completion_scheduler (article,        none: an operation state's type does not carry its resource;
//	P2300)                                    sender.Completion says what an algorithm asks it for, whether
//	                                          it stays where it was started
//	jthread_scheduler, timed (article)        sched.NewThread; set_error(exception) of a thread that cannot
//	                                          be made has no counterpart: Go makes it or ends the program
//	timed_run_loop: mutex, submission queue,  sched.TimedRunLoop; Run(token) ends as the article's does;
//	indexed heap (article)                    what comes after that is abandoned
//	condition variable with wait_until        a channel of capacity one and a time.Timer; sync.Cond has no
//	(article)                                 deadline
//	cancellation as a submitted operation,    sched.Handshake, sched.Driver; registers the callback before
//	op_count 1/2 (article)                    it enqueues (the article's order lets the loop complete under
//	                                          Start); a timer found due stays due
//	cancellation as a command (article,       sched.CommandRunLoop; a command whose timer is over is
//	closing remarks)                          withdrawn, so none is left over
//	several driving threads ("left as an      none: one thread drives a loop; a reactor has one loop a core
//	exercise")
//	run_loop, its scheduler (P2300)           sender.RunLoop, sched.RunLoop; the loop is its own scheduler
//	                                          handle
//	async_main with when_any, outputs A, C    TestAsyncMain of sched; in a synctest bubble, with exact times
//	(article)                                 and thread ids
//	async_main with jthread_scheduler,        TestAsyncMainOnTwoSchedulers of sched; D is on the loop's
//	outputs C, D (article)                    thread
//	towards an io_run_loop (article)          reactor.Loop; a TimedScheduler by the same Handshake
//	one-way execute as an algorithm (P1525R1  sender.Execute; operation state from a pool; abandoned: f is
//	App. A)                                   not called
//	fallback_scheduler (P1525R1 App. B)       sched.Fallback, sched.TimedFallback; a refusal is Abandon,
//	                                          where the paper has set_error
//	thread_dispatcher, allocation-free        sched.ThreadDispatcher; Schedule completes with the thread's
//	scheduling (P1525R1 App. C)               number; what comes after Close is abandoned and not forgotten
//	deadline executor (P1525R1 §2.2)          sched.Deadline; os.ErrDeadlineExceeded on the error channel,
//	                                          on time even if the resource is stuck
//	inline_scheduler (P1525R1 §4.2, P3552R3)  sched.Inline
//	task_scheduler (P3552R3)                  sched.Any; equality is of the resource, however often wrapped;
//	                                          no allocation; zero value is Inline
//	simple_execution_context (D2006R1 App.    Example_simpleExecutionContext of sched; examples 1–3 of that
//	A, example 4)                             appendix show what connect/start does away with
//	static thread pool (P0443)                sched.ThreadPool; one queue, first in first out; a limit
//	                                          beyond which it refuses
//
// P2300R10 and its companions:
//
//	just, just_error, just_stopped            Just, JustError, JustStopped
//	read_env, write_env, unstoppable          ReadEnv, WriteEnv, Unstoppable; StopEnv, SchedulerEnv and
//	                                          ValueEnv are what to write
//	get_stop_token, get_scheduler, other      Env.StopToken, Env.Scheduler, Env.Value
//	queries
//	get_allocator                             none: storage is the caller's; what allocates says so
//	get_completion_signatures, sender_in      none: one value type by generics, the rest by documentation
//	then, upon_error, upon_stopped            Then, UponError, UponStopped
//	let_value, let_error, let_stopped         Let, LetError, LetStopped
//	when_all                                  WhenAll, to WhenAll5, WhenAllSlice; a value each: All2 to
//	                                          All5, or a slice
//	when_any (stdexec)                        WhenAny, to WhenAny5, WhenAnySlice
//	into_variant                              none: a sender has one value type
//	stopped_as_optional, into_optional        IntoOptional
//	stopped_as_error                          SyncWait, Future.Get, FromFunc: ErrStopped; at the edges only,
//	                                          where a Go function must return it
//	into_expected                             IntoResult
//	bulk                                      Bulk; the default algorithm, in order; WhenAllSlice over
//	                                          StartsOn for several threads
//	split                                     Split; one consumer's stop is not everybody's
//	ensure_started, start_detached            AsFuture, StartDetached; ensure_started was withdrawn;
//	                                          SpawnFuture keeps its scope
//	starts_on, continues_on, schedule_from    StartsOn, ContinuesOn
//	on                                        none: ContinuesOn(StartsOn(there, s), here); task.On in a task
//	affine_on                                 AffineOn; a stop request does not touch the way back (LWG
//	                                          4332)
//	completion behaviour (P3206)              Completion, CompletionOf; three, in order, so that an
//	                                          algorithm's is the least of its children's
//	sync_wait, run_loop                       SyncWait, RunLoop; with a context
//	stop_when, finally, repeat, retry         StopWhen, Finally, Repeat, RepeatUntil, Retry
//	(libunifex, stdexec)
//	any_sender_of (stdexec)                   Erase, Any
//	inplace_stop_source, token, callback      stop.Source, stop.Token, stop.Callback
//	stop_token of std::jthread, contexts      FromContext, ToContext; to and from context.Context
//	counting_scope (P3149)                    CountingScope, Join; its states are those of the specification
//	spawn, spawn_future (P3149)               Spawn, SpawnFuture; an error of what is spawned goes to
//	                                          OnError: Go cannot rule it out
//	simple_counting_scope                     CountingScope; whose stop source nobody needs to use
//	nest, associate, scope_token              none: Spawn is what associates; a *CountingScope is its token
//	domains, transform_sender, customisation  none: Go has no overloads; an algorithm does one thing
//	points
//	operator| (pipes)                         none: Go has no operators to define; algorithms are called
//	                                          inside out
//
// P3552R3: tasks:
//
//	task<T>, task<>                           task.NewValue[V], task.New
//	co_await of a sender (4.4)                task.Await: value and error
//	co_await of an awaitable, as_awaitable,   none: Go has no awaitables; a sender is what is awaited
//	with_awaitable_senders
//	several set_value signatures,             none: a Go sender has one value type; sender.IntoOptional and
//	into_variant for co_await                 IntoResult turn channels into it
//	co_return, return_value                   return; the function's results complete the task
//	unhandled_stopped (completing stopped)    returning sender.ErrStopped, wrapped or not; the function is
//	                                          resumed with it, so that its defers and its own decision come
//	                                          first
//	co_yield with_error(e) (error without an  return err; errors are values in Go
//	exception, 4.9)
//	unhandled_exception,                      *sender.PanicError; task.ErrGoexit
//	set_error(exception_ptr)
//	scheduler affinity, affine_on (4.5)       every turn of a task is work of its scheduler
//	no reschedule for what completes inline;  an Await that completes inside Start does not switch;
//	completion behaviour                      sender.Completion tells when no atomics are needed
//	initial_suspend on the scheduler          the first turn is enqueued, and refused if stop was requested
//	                                          before
//	final_suspend, destroying the frame       the coroutine is given back before the receiver is called
//	inline_scheduler in a task; no scheduler  a task without a scheduler runs where it is started and
//	in the environment                        resumed
//	task_scheduler (type erasure)             a sender.Scheduler is an interface; sched.Any for equality and
//	                                          as zero value, seen through by tasks
//	co_continue_on,                           task.On, for a part, as a structured child; until further
//	change_coroutine_scheduler (4.5)          notice is what unifex found too subtle, and a coroutine cannot
//	                                          leave its thread
//	reschedule, yielding                      task.Yield
//	allocator support (4.6)                   none as such: operation states are kept by type and coroutines
//	                                          by their home, so nothing is allocated
//	environment support,                      T.Env, T.StopToken, T.Scheduler; open queries are forwarded
//	Environment::env_type (4.7)
//	stop_source_type, the lazily linked stop  the receiver's token is handed on as it is; a linked source is
//	source (4.8)                              made when On needs one
//	get_stop_token in a task                  T.StopToken
//	P2300R10 unstoppable for a part of a      task.Unstoppable
//	task
//	avoiding stack overflow (4.10)            no recursion: inline results return from Await, others come as
//	                                          work; a test of a million
//	asynchronous clean-up (4.11)              defer with Await, and task.Unstoppable
//	destroying a task that was never resumed  Home.Drain, Home.Abandon; Runner.Abandon: the function is
//	                                          unwound
//	spawn into a counting_scope (4.5)         sender.Spawn(scope, sender.WriteEnv(task, env)); Loop.Spawn
//	sync_wait of a task                       sender.SyncWait(ctx, task)
//	symmetric transfer between coroutines     none: a Go coroutine cannot be switched to from another's
//	(P1056)                                   frame for good; the scheduler is in between
//	cppcoro shared_task                       sender.Split(task)
//	task as an any-thread goroutine           the same API on RunLoop, ThreadPool, NewThread: a goroutine
//	                                          that has its scheduler's turn
//	coroutines on a run loop's thread         task.Resident, task.Home; reactor.Loop is one
//
// Sequence senders (stdexec):
//
//	sequence senders: set_next                seq.Receiver, seq.Sequence
//	for_each, ignore_all_values               seq.ForEach
//	transform_each, transform_stream          seq.Transform
//	filter_stream                             seq.Filter
//	take_until, take                          seq.Take
//	merge_each, merge with a bound of         seq.Merge, Merge3, Merge4, MergeSlice(s, bound)
//	concurrency
//	reduce_stream; into a container           seq.Reduce, seq.Collect
//	range_stream                              seq.Of, seq.From(iter.Seq)
//	set_next returning a sender (back-        none: items are consumed inside SetNext; credit at the source
//	pressure per item)                        does it (reactor's Grant)
//	contract of sequences                     sendertest.CheckSequence, SequenceRecorder, SequenceLeaf
package sender
