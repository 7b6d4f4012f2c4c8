package descriptors

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// Unit is a named length of time, numbered as in Envoy's answers.
type Unit uint8

// The units. A month is 30 days and a year 365, both counted from the epoch.
const (
	UnknownUnit Unit = iota
	Second
	Minute
	Hour
	Day
	Month
	Year
	Week
)

const day = 24 * time.Hour

var unitNames = [...]string{"unknown", "second", "minute", "hour", "day", "month", "year", "week"}

var unitLengths = [...]time.Duration{0, time.Second, time.Minute, time.Hour, day, 30 * day, 365 * day, 7 * day}

// byLength has the units from the longest to the shortest.
var byLength = [...]Unit{Year, Month, Week, Day, Hour, Minute, Second}

// String is the unit's word in a rule file.
func (u Unit) String() string {
	if int(u) < len(unitNames) {
		return unitNames[u]
	}
	return unitNames[UnknownUnit]
}

// Duration is the unit's length; 0 for a number that is no unit.
func (u Unit) Duration() time.Duration {
	if int(u) < len(unitLengths) {
		return unitLengths[u]
	}
	return 0
}

// ParseUnit reads a unit's word in any case.
func ParseUnit(word string) (Unit, bool) {
	for i, name := range unitNames {
		if i > 0 && strings.EqualFold(word, name) {
			return Unit(i), true
		}
	}
	return UnknownUnit, false
}

// largestUnit is the longest unit that divides a window, and how often it does;
// UnknownUnit if the window holds a part of a second.
func largestUnit(window time.Duration) (Unit, uint32) {
	for _, u := range byLength {
		if window%u.Duration() == 0 {
			return u, uint32(window / u.Duration()) //nolint:gosec // a window has at most 366 days in seconds
		}
	}
	return UnknownUnit, 0
}

var weeksAndDays = regexp.MustCompile(`^(?:(\d{1,5})w)?(?:(\d{1,5})d)?(.*)$`)

// parsePeriod reads a duration: weeks and days, then Go's form, as in 2w, 1d12h
// or 90s.
func parsePeriod(text string) (time.Duration, error) {
	m := weeksAndDays.FindStringSubmatch(text)
	if m == nil || text == "" {
		return 0, fmt.Errorf("%q is no duration, want one like 250ms, 30s, 5m, 12h, 7d or 2w", text)
	}
	weeks, _ := strconv.Atoi("0" + m[1]) // at most five digits
	days, _ := strconv.Atoi("0" + m[2])  // at most five digits
	period := time.Duration(7*weeks+days) * day
	if m[3] == "" {
		return period, nil
	}
	rest, err := time.ParseDuration(m[3])
	if err != nil || m[3][0] == '-' || m[3][0] == '+' {
		return 0, fmt.Errorf("%q is no duration, want one like 250ms, 30s, 5m, 12h, 7d or 2w", text)
	}
	return min(period, algorithms.MaxFill) + min(rest, algorithms.MaxFill), nil
}
