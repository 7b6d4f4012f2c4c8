package telemetry

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/grpclog"
)

// Logger writes to w: format json or console, level debug, info, warn or error.
func Logger(w io.Writer, format, level string) (*zap.Logger, error) {
	at, err := zapcore.ParseLevel(level)
	if err != nil || at > zapcore.ErrorLevel {
		return nil, fmt.Errorf("log level is %q, must be debug, info, warn or error", level)
	}
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	config.EncodeDuration = zapcore.StringDurationEncoder
	var encoder zapcore.Encoder
	switch format {
	case "json":
		encoder = zapcore.NewJSONEncoder(config)
	case "console":
		encoder = zapcore.NewConsoleEncoder(config)
	default:
		return nil, fmt.Errorf("log format is %q, must be json or console", format)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), at)), nil
}

// GRPC gives gRPC's own log a place among ours: connections that do not speak
// gRPC, at most three and then one in a hundred a second, and errors.
func GRPC(log *zap.Logger) grpclog.LoggerV2 {
	sampled := log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, 3, 100)
	}))
	return grpcLog{sampled}
}

type grpcLog struct{ log *zap.Logger }

// notGRPC is how grpc-go begins its line about a connection that it gave up on.
const notGRPC = "grpc: Server.Serve failed to create ServerTransport"

func (g grpcLog) info(text string) {
	_, reason, ok := strings.Cut(text, notGRPC)
	if !ok {
		return
	}
	if _, quoted, ok := strings.Cut(reason, "desc = "); ok {
		if inner, err := strconv.Unquote(strings.TrimSpace(quoted)); err == nil {
			reason = inner
		}
	}
	g.log.Warn("closed a connection that does not speak gRPC", zap.String("reason", reason))
}

func (g grpcLog) Info(args ...any)                  { g.info(fmt.Sprint(args...)) }
func (g grpcLog) Infoln(args ...any)                { g.info(fmt.Sprintln(args...)) }
func (g grpcLog) Infof(format string, args ...any)  { g.info(fmt.Sprintf(format, args...)) }
func (g grpcLog) Warning(...any)                    {}
func (g grpcLog) Warningln(...any)                  {}
func (g grpcLog) Warningf(string, ...any)           {}
func (g grpcLog) Error(args ...any)                 { g.log.Error("grpc", zap.String("reason", fmt.Sprint(args...))) }
func (g grpcLog) Errorln(args ...any)               { g.Error(args...) }
func (g grpcLog) Errorf(format string, args ...any) { g.Error(fmt.Sprintf(format, args...)) }
func (g grpcLog) Fatal(args ...any)                 { g.log.Fatal("grpc", zap.String("reason", fmt.Sprint(args...))) }
func (g grpcLog) Fatalln(args ...any)               { g.Fatal(args...) }
func (g grpcLog) Fatalf(format string, args ...any) { g.Fatal(fmt.Sprintf(format, args...)) }
func (g grpcLog) V(int) bool                        { return false }

// Printable is text for a page or a table: as it is, or quoted where it holds
// characters that would make another line or steer a terminal.
func Printable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return text
	}
	return strconv.Quote(text)
}
