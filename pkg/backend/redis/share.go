package redis

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

//go:embed lua/share.lua
var shareLua string

// How long what replicas share outlives its last change.
const (
	rowsKept  = 15 * time.Second // a replica that leaves no row for so long has gone
	stateKept = time.Hour        // a restart within it goes on where it was

	// shareTimeout is how long a read of a connection may take: no request waits for
	// it, so it need not be as short as theirs.
	shareTimeout = time.Second
)

// errShared is a reply that is none of share.lua's.
var errShared = errors.New("reading what replicas share: unexpected form")

// Shared is what a replica is told when it has left its row.
type Shared struct {
	At    time.Time // by Redis' clock
	State []byte    // that Keep kept last; nil: none
	Turn  bool      // whether this replica is the one to look at all rows
	Rows  []Row     // if Turn: of all replicas, this one's too
}

// Row is what a replica left.
type Row struct {
	Replica string
	At      time.Time // when, by Redis' clock
	Data    []byte
}

// Share leaves a replica's row under a name, in place of the one that it left
// before, and says what the others know. One caller in each turn is told to look.
func (r *Redis) Share(ctx context.Context, name, replica string, row []byte, turn time.Duration) (Shared, error) {
	keys, client, err := r.sharedKeys(ctx, name)
	if err != nil {
		return Shared{}, err
	}
	reply, err := goredis.NewScript(shareLua).Run(ctx, client, keys, replica, row, turn.Milliseconds(), rowsKept.Milliseconds()).StringSlice()
	if err != nil {
		r.shareFailed(err)
		return Shared{}, fmt.Errorf("sharing through redis: %w", err)
	}
	return readShared(reply)
}

// Keep keeps the state of a name for all replicas.
func (r *Redis) Keep(ctx context.Context, name string, state []byte) error {
	keys, client, err := r.sharedKeys(ctx, name)
	if err != nil {
		return err
	}
	if err := client.Set(ctx, keys[2], state, stateKept).Err(); err != nil {
		r.shareFailed(err)
		return fmt.Errorf("keeping a state in redis: %w", err)
	}
	return nil
}

// sharedKeys are the keys of a name, all in one slot, and the client of their node.
func (r *Redis) sharedKeys(ctx context.Context, name string) ([]string, *goredis.Client, error) {
	sum := sha256.Sum256([]byte(name))
	tag := hex.EncodeToString(sum[:16])
	key := r.keys.prefix + "1ad{" + tag + "}:"
	node := r.single
	if c := r.cluster; c != nil {
		slot := slotOf([]byte(tag))
		if c.slots[slot].Load() == nil {
			if err := c.refresh(ctx); err != nil {
				return nil, nil, err
			}
		}
		node = c.nodeOf(slot)
	}
	return []string{key + "rows", key + "turn", key + "state"}, node.client.Load().WithTimeout(shareTimeout), nil
}

// shareFailed has the slots asked for anew, for the next turn.
func (r *Redis) shareFailed(err error) {
	if r.cluster != nil && goredis.HasErrorPrefix(err, "MOVED") {
		signal(r.cluster.stale)
	}
}

func readShared(reply []string) (Shared, error) {
	if len(reply) < 2 || len(reply)%2 != 0 {
		return Shared{}, errShared
	}
	at, err := strconv.ParseInt(reply[0], 10, 64)
	if err != nil {
		return Shared{}, errShared
	}
	s := Shared{At: time.UnixMicro(at), Turn: len(reply) > 2}
	if reply[1] != "" {
		s.State = []byte(reply[1])
	}
	for i := 2; i < len(reply); i += 2 {
		stamp, data, _ := strings.Cut(reply[i+1], " ")
		left, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return Shared{}, errShared
		}
		s.Rows = append(s.Rows, Row{Replica: reply[i], At: time.UnixMicro(left), Data: []byte(data)})
	}
	return s, nil
}
