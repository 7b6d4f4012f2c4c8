package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// How long what replicas share outlives its last change.
const (
	rowsKept  = 15 * time.Second // a replica that leaves no row for so long has gone
	stateKept = time.Hour        // a restart within it goes on where it was
)

// errShared is a reply that is none of share.lua's.
var errShared = errors.New("reading what replicas share: unexpected form")

// Post is what a replica leaves under a name: a row, in place of the one that it
// left before, and the parts of the name that it asks about.
type Post struct {
	Name  string
	Row   []byte
	Parts []string
}

// Shared is what a replica is told when it has left a row.
type Shared struct {
	At    time.Time // by Redis' clock
	Parts []Part    // in the order of the Post
	Rows  []Row     // of all replicas, this one's too, if it has the turn of a part
	Err   error     // then nothing else is told
}

// Part is what replicas know of a part.
type Part struct {
	State []byte // that Keep kept last; nil: none
	Turn  bool   // whether this replica is the one to look at all rows
}

// Row is what a replica left.
type Row struct {
	Replica string
	At      time.Time // when, by Redis' clock
	Data    []byte
}

// State is what is to be kept of a part of a name.
type State struct {
	Name, Part string
	Data       []byte
}

// Share leaves a replica's rows and says, in the order of the posts, what the others
// know. One caller in each turn of a part is told to look. It takes one trip to each
// node, on a connection that no decision needs.
func (r *Redis) Share(ctx context.Context, replica string, posts []Post, turn time.Duration) []Shared {
	sha := shareScript().sha
	cmds := r.post(ctx, len(posts), func(i int) (string, []any) {
		p := &posts[i]
		k := r.sharedKeys(p.Name)
		args := append(make([]any, 0, 8+2*len(p.Parts)), "evalsha", sha, 1+2*len(p.Parts), k.rows()) //nolint:mnd // those that are always there
		for _, part := range p.Parts {
			args = append(args, k.turn(part), k.state(part))
		}
		return k.tag, append(args, replica, p.Row, turn.Milliseconds(), rowsKept.Milliseconds())
	})
	all := make([]Shared, len(posts))
	for i, cmd := range cmds {
		reply, err := cmd.StringSlice()
		if err == nil {
			all[i], err = readShared(reply, len(posts[i].Parts))
		}
		if err != nil {
			all[i] = Shared{Err: fmt.Errorf("sharing through redis: %w", err)}
		}
	}
	return all
}

// Keep keeps states for all replicas, by one trip to each node, and says of each, in
// their order, what went wrong.
func (r *Redis) Keep(ctx context.Context, states []State) []error {
	cmds := r.post(ctx, len(states), func(i int) (string, []any) {
		s := &states[i]
		k := r.sharedKeys(s.Name)
		return k.tag, []any{"set", k.state(s.Part), s.Data, "px", stateKept.Milliseconds()}
	})
	errs := make([]error, len(states))
	for i, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			errs[i] = fmt.Errorf("keeping a state in redis: %w", err)
		}
	}
	return errs
}

// sharedKeys are the keys of a name, all in the slot of the tag.
type sharedKeys struct{ prefix, tag string }

func (r *Redis) sharedKeys(name string) sharedKeys {
	tag := digest(name)
	return sharedKeys{r.keys.prefix + "1ad{" + tag + "}:", tag}
}

func (k sharedKeys) rows() string             { return k.prefix + "rows" }
func (k sharedKeys) turn(part string) string  { return k.prefix + digest(part) + ":turn" }
func (k sharedKeys) state(part string) string { return k.prefix + digest(part) + ":state" }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// readShared reads a reply about some parts.
func readShared(reply []string, parts int) (Shared, error) {
	first := 1 + 2*parts // place of the rows
	if len(reply) < first || len(reply)%2 != 1 {
		return Shared{}, errShared
	}
	at, err := strconv.ParseInt(reply[0], 10, 64)
	if err != nil {
		return Shared{}, errShared
	}
	s := Shared{At: time.UnixMicro(at), Parts: make([]Part, parts)}
	for i := range s.Parts {
		s.Parts[i].Turn = reply[1+2*i] != ""
		if state := reply[2+2*i]; state != "" {
			s.Parts[i].State = []byte(state)
		}
	}
	for i := first; i < len(reply); i += 2 {
		stamp, data, _ := strings.Cut(reply[i+1], " ")
		left, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return Shared{}, errShared
		}
		s.Rows = append(s.Rows, Row{Replica: reply[i], At: time.UnixMicro(left), Data: []byte(data)})
	}
	return s, nil
}
