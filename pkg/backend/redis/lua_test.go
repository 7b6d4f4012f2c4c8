package redis_test

import (
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"
)

// TestLuaIsOld holds the scripts to what Redis 6.2 has: each of these commands and
// options is of Redis 2.6, and the functions are of its Lua 5.1 and libraries.
func TestLuaIsOld(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("lua/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts (error %v)", err)
	}
	var text strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(comments.ReplaceAll(data, nil))
	}
	used := func(pattern string) []string {
		var words []string
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text.String(), -1) {
			words = append(words, found[1])
		}
		slices.Sort(words)
		return slices.Compact(words)
	}
	want := map[string][]string{
		"commands": {"DEL", "GET", "HDEL", "HGETALL", "HSET", "LINDEX", "LLEN", "LSET", "LTRIM", "PEXPIRE", "PTTL", "RPUSH", "SET", "TIME"},
		"library": {
			"cmsgpack.unpack", "math.abs", "math.ceil", "math.floor", "math.fmod", "math.max", "math.min", "redis.call", "redis.pcall",
			"string.find", "string.format", "string.gmatch", "string.gsub", "string.match", "table.concat", "table.remove",
		},
		"functions": {"error", "ipairs", "pcall", "tonumber", "type"},
	}
	got := map[string][]string{
		"commands": used(`redis\.p?call\(\s*'(\w+)'`),
		"library":  used(`\b((?:redis|math|string|table|cmsgpack|cjson|struct|bit|os|debug|coroutine|server)\.\w+)`),
		"functions": used(`[^.\w](assert|collectgarbage|error|getfenv|getmetatable|ipairs|load|loadstring|next|pairs|pcall|` +
			`print|rawequal|rawget|rawset|select|setfenv|setmetatable|tonumber|tostring|type|unpack|xpcall)\(`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the scripts use (-want +got):\n%s", diff)
	}
	if all, named := strings.Count(text.String(), "redis.call(")+strings.Count(text.String(), "redis.pcall("),
		len(regexp.MustCompile(`redis\.p?call\(\s*'`).FindAllString(text.String(), -1)); all != named {
		t.Errorf("%d commands of which %d are written out", all, named)
	}
}

var comments = regexp.MustCompile(`--[^\n]*`)

// TestCounterShare compares the division of a counter's oldest hits with exact arithmetic,
// over all numbers that it is for.
func TestCounterShare(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("lua/counter.lua")
	if err != nil {
		t.Fatal(err)
	}
	function, _, ok := strings.Cut(string(text), "-- sub_window is")
	if !ok {
		t.Fatal("the function is not where it was")
	}
	script := goredis.NewScript("local floor, fmod, two53 = math.floor, math.fmod, 9007199254740992\n" + function + `
local got = {}
for i = 1, #ARGV, 3 do got[#got + 1] = string.format('%.0f', share(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]))) end
return got`)
	client := connect(t, shared.shared, "", "")
	r := rand.New(rand.NewPCG(1, 2))
	var args []any
	var want []string
	for range 1000 {
		count, whole := r.Int64N(1<<35>>r.IntN(36)+1), 1+r.Int64N(1<<45>>r.IntN(46))
		part := whole - r.Int64N(whole+1)>>r.IntN(46)
		args = append(args, count, part, whole)
		n := new(big.Int).Mul(big.NewInt(count), big.NewInt(part))
		n.Add(n, big.NewInt(whole-1)).Div(n, big.NewInt(whole))
		want = append(want, n.String())
	}
	got, err := script.Run(t.Context(), client, nil, args...).StringSlice()
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("share(%v, %v, %v) is %s, want %s", args[3*i], args[3*i+1], args[3*i+2], got[i], want[i])
		}
	}
}
