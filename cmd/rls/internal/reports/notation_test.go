package reports

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// calls are one or more equal requests, written Q(a=1,b=2 | c=3; hits=2) x5: two
// descriptors, the first with the entries a then b, a request level hits_addend of
// 2, asked five times. A descriptor may have its own, as in Q(a=1 hits=0), and
// another domain than t goes before: u:Q(a=1).
type calls struct {
	domain      string
	descriptors []string
	hits        string
	times       int
}

var form = regexp.MustCompile(`^(?:(\w+):)?Q\(([^;)]*)(?:; hits=(\d+))?\)(?: x(\d+))?$`)

func parse(text string) (calls, error) {
	part := form.FindStringSubmatch(text)
	if part == nil {
		return calls{}, fmt.Errorf("%q is no request", text)
	}
	c := calls{domain: "t", descriptors: strings.Split(part[2], " | "), hits: part[3], times: 1}
	if part[1] != "" {
		c.domain = part[1]
	}
	if part[4] != "" {
		c.times = int(number(part[4]))
	}
	return c, nil
}

// fill writes one request. The service clears it after use, so each call needs
// its own.
func (c *calls) fill(q *codec.Request) {
	*q = codec.Request{Domain: c.domain, HitsAddend: uint32(number(c.hits))}
	for _, text := range c.descriptors {
		entries, own, has := strings.Cut(text, " hits=")
		d := codec.Descriptor{HasHitsAddend: has, HitsAddend: number(own)}
		for entry := range strings.SplitSeq(entries, ",") {
			key, value, _ := strings.Cut(entry, "=")
			d.Entries = append(d.Entries, codec.Entry{Key: key, Value: value})
		}
		q.Descriptors = append(q.Descriptors, d)
	}
}

// number is 0 for an empty text; the pattern lets only digits through.
func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// runs is codes in the order of the answers, such as "5 OK, 3 OVER".
func runs(answers []*codec.Response) string {
	var parts []string
	for i := 0; i < len(answers); {
		n := i
		for n < len(answers) && answers[n].Code == answers[i].Code {
			n++
		}
		parts = append(parts, fmt.Sprintf("%d %s", n-i, name(answers[i].Code)))
		i = n
	}
	return strings.Join(parts, ", ")
}

func name(c codec.Code) string {
	return map[codec.Code]string{codec.OK: "OK", codec.OverLimit: "OVER"}[c]
}

// words is a status such as "OVER, rem 0", or "OK, no limit".
func words(s codec.Status) string {
	if !s.HasLimit {
		return name(s.Code) + ", no limit"
	}
	return fmt.Sprintf("%s, rem %d", name(s.Code), s.Remaining)
}
