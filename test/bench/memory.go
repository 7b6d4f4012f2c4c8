package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/eb50146d/rls/test/proc"
)

// storedKeys are those whose memory in Redis is measured.
const storedKeys = 100_000

// memory asks once for each of many keys.
func (b *bench) memory(ctx context.Context, keys int) error {
	rls, err := b.startRLS(ctx)
	if err != nil {
		return err
	}
	defer rls.Stop() //nolint:errcheck // the measurement is done
	grown, err := proc.Growth(ctx, b.load, rls, keys)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "memory: %d bytes a key (resident, %d gcra keys)\n", grown/int64(keys), keys)
	if b.redis == "" {
		return nil
	}
	s, err := b.startRedis(ctx)
	if err != nil {
		return err
	}
	defer s.stop() //nolint:errcheck // the measurement is done
	for _, kind := range []struct{ key, what string }{
		{"visitor", "the limit divides the window in µs"}, {"tourist", "it does not"},
	} {
		size, err := b.stored(ctx, s, kind.key)
		if err != nil {
			return err
		}
		length, err := keyLength(ctx, s.store)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "memory in Redis: %d bytes a key (%d gcra keys of %d bytes, %s)\n", size, storedKeys, length, kind.what)
	}
	return nil
}

// stored asks for many values of a key and returns by how many bytes Redis has grown
// for each.
func (b *bench) stored(ctx context.Context, s *server, key string) (int64, error) {
	before, err := usedMemory(ctx, s.store)
	if err != nil {
		return 0, err
	}
	count := strconv.Itoa(storedKeys)
	r, err := proc.Load(ctx, b.load, "-addr", proc.Loopback(s.port), "-domain", "bench", "-key", key, "-values", count, "-requests", count)
	if err != nil {
		return 0, err
	}
	if r.OK != storedKeys {
		return 0, fmt.Errorf("%d values of %s admitted, %d refused, %d failed: %s", r.OK, key, r.Over, r.Failed, r.FirstFault)
	}
	after, err := usedMemory(ctx, s.store)
	return (after - before) / storedKeys, err
}

// usedMemory is what Redis has allocated, in bytes.
func usedMemory(ctx context.Context, store *proc.Redis) (int64, error) {
	info, err := store.Do(ctx, "INFO", "memory")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(info, "\nused_memory:")
	text, _, _ := strings.Cut(rest, "\r")
	return strconv.ParseInt(text, 10, 64)
}

// keyLength is how long a key is, in bytes.
func keyLength(ctx context.Context, store *proc.Redis) (int, error) {
	key, err := store.Do(ctx, "RANDOMKEY")
	if err != nil {
		return 0, err
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(key, "$"), "\r")
	return strconv.Atoi(text)
}
