// Reactord-otel makes OpenTelemetry traces of the access log of reactord: one for each connection. README.md says how
// it is used.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const usage = `reactord-otel [FLAGS] [FILE]

Makes OpenTelemetry traces of the access log of reactord (access_log.format: json), one for each connection. FILE is the
log, which may be rotated, or a named pipe. Without FILE, or with -, it reads the standard input to its end.

`

// defaultRatio is the part of the connections without a fault that is exported if nothing says otherwise.
const defaultRatio = 0.01

// flushTime bounds the export of the remaining lines at the end.
const flushTime = 10 * time.Second

func main() {
	log.SetFlags(0)
	log.SetPrefix("reactord-otel: ")
	c, err := commandLine(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2) // package flag has said why
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c); err != nil {
		log.Fatal(err) //nolint:gocritic // stop only restores signals
	}
}

// command is the parsed command line.
type command struct {
	file      string
	ratio     float64
	fromStart bool
}

func commandLine(args []string) (c command, err error) {
	ratio, err := environmentRatio()
	if err != nil {
		log.Print(err)
		return c, err
	}
	f := flag.NewFlagSet("reactord-otel", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), usage)
		f.PrintDefaults()
	}
	f.Float64Var(&c.ratio, "ratio", ratio, "part of the connections without a fault that is exported, from 0 to 1; all "+
		"others always are (environment: OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG)")
	f.BoolVar(&c.fromStart, "from-start", false, "begin with what the file has already, and not at its end")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	if f.NArg() > 1 || c.ratio < 0 || c.ratio > 1 {
		err := errors.New("write one file, and a ratio from 0 to 1")
		log.Print(err)
		return c, err
	}
	if c.file = f.Arg(0); c.file == "" {
		c.file = "-"
	}
	return c, nil
}

// environmentRatio returns the ratio of the sampler in the variables of OpenTelemetry.
func environmentRatio() (float64, error) {
	switch name := strings.TrimPrefix(os.Getenv("OTEL_TRACES_SAMPLER"), "parentbased_"); name {
	case "":
		return defaultRatio, nil
	case "always_on":
		return 1, nil
	case "always_off":
		return 0, nil
	case "traceidratio":
		text := os.Getenv("OTEL_TRACES_SAMPLER_ARG")
		ratio, err := strconv.ParseFloat(text, 64)
		if err != nil || ratio < 0 || ratio > 1 {
			return 0, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG %q is not a number from 0 to 1", text)
		}
		return ratio, nil
	default:
		return 0, fmt.Errorf("OTEL_TRACES_SAMPLER %q is unknown: write always_on, always_off or traceidratio", name)
	}
}

// run exports until ctx is done, or the standard input has ended.
func run(ctx context.Context, c command) error {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Print(err) }))
	exporter, err := newExporter(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	about, err := newResource(ctx)
	if err != nil {
		return err
	}
	provider := sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithSampler(newSampler(c.ratio)),
		// If the collector is slow, the log waits: the file keeps it, and of a pipe the daemon counts what is lost.
		sdk.WithBatcher(exporter, sdk.WithBlocking()))
	defer func() {
		flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
		defer cancel()
		if err := provider.Shutdown(flush); err != nil {
			log.Print(err)
		}
	}()
	ended := make(chan error, 1)
	go func() { ended <- follow(ctx, c.file, c.fromStart, exportEach(ctx, provider.Tracer(scope))) }()
	select {
	case err = <-ended:
	case <-ctx.Done(): // a standard input without a writer may not end
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// scope is the name of the instrumentation.
const scope = "github.com/reactord/reactord/deploy/otel"

// exportEach exports a line of text. Of those that it cannot read, the log has one a minute.
func exportEach(ctx context.Context, tracer trace.Tracer) func([]byte) {
	var said time.Time
	wrong := 0
	return func(text []byte) {
		l, err := parse(text)
		switch {
		case err != nil:
			wrong++
			if time.Since(said) > time.Minute {
				said = time.Now()
				log.Print(leftOut(wrong), "; the last: ", err)
			}
		case !l.Interim: // the connection is still open
			export(ctx, tracer, l)
		}
	}
}

// leftOut returns a text about the number of lines left out.
func leftOut(lines int) string {
	if lines == 1 {
		return "1 line is left out"
	}
	return fmt.Sprintf("%d lines are left out", lines)
}

// newExporter returns the exporter of OTEL_TRACES_EXPORTER and OTEL_EXPORTER_OTLP_PROTOCOL, which reads its other
// settings from the environment itself.
func newExporter(ctx context.Context) (sdk.SpanExporter, error) {
	switch name := cmp.Or(os.Getenv("OTEL_TRACES_EXPORTER"), "otlp"); name {
	case "otlp":
	case "console":
		return stdouttrace.New()
	default:
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER %q is unknown: write otlp or console", name)
	}
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"),
		"http/protobuf")
	switch protocol {
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	}
	return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL %q is unknown: write http/protobuf or grpc", protocol)
}

// newResource describes the proxy: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last.
func newResource(ctx context.Context) (*resource.Resource, error) {
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(semconv.ServiceName("reactord")), resource.WithFromEnv())
}
