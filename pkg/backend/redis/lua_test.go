package redis_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
