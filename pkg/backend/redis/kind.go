package redis

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// Kind is why Redis did not decide an ask.
type Kind uint8

// The kinds of errors.
const (
	Other       Kind = iota
	Timeout          // the budget or the caller's deadline ran out
	Unavailable      // no connection, or a breaker that is open
	Busy             // too many requests wait
	ReadOnly         // a replica was asked
	Loading          // the server is starting, or a replica without its master
	ClusterDown      // the slot is not served
	Redirected       // a slot moved more often than is followed
	OutOfMemory
	WrongType // a key holds something else
	Denied    // the user may not do this
	Script    // the script failed
	kinds
)

// String is the kind as a label.
func (k Kind) String() string {
	return [...]string{
		"other", "timeout", "unavailable", "busy", "readonly", "loading", "clusterdown", "redirected", "oom", "wrongtype", "denied", "script",
	}[k]
}

// replies are the words that begin the error replies of Redis.
func kindOfReply(text string) Kind {
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "READONLY":
		return ReadOnly
	case "LOADING", "MASTERDOWN":
		return Loading
	case "CLUSTERDOWN":
		return ClusterDown
	case "MOVED", "ASK", "TRYAGAIN":
		return Redirected
	case "OOM":
		return OutOfMemory
	case "WRONGTYPE":
		return WrongType
	case "NOAUTH", "NOPERM", "WRONGPASS":
		return Denied
	case "ERR", "NOSCRIPT", "BUSY":
		return Script
	default:
		return Other
	}
}

// replyError is an error reply of Redis to one ask.
type replyError struct{ text string }

func (e *replyError) Error() string { return "redis: " + e.text }

// KindOf is the kind of an answer's error.
func KindOf(err error) Kind {
	var reply *replyError
	var answered goredis.Error
	var network net.Error
	switch {
	case errors.As(err, &reply):
		return kindOfReply(reply.text)
	case errors.Is(err, ErrBusy):
		return Busy
	case errors.Is(err, ErrOpen), errors.Is(err, ErrClosed):
		return Unavailable
	case errors.Is(err, errReply):
		return Script
	case errors.As(err, &answered) && !errors.Is(err, goredis.ErrClosed):
		return kindOfReply(answered.Error())
	case errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return Timeout
	default:
		return Unavailable
	}
}
