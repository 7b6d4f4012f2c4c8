package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRD09PasswordsFromFiles are read again when they change, and shown nowhere.
func TestRD09PasswordsFromFiles(t *testing.T) {
	t.Parallel()
	const first, second = "p@ss:/%#word", "hunter2-hunter3"
	server := startRedis(t)
	admin := func(words ...any) {
		t.Helper()
		if err := server.client.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "password")
	becomes := func(password string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		admin("CONFIG", "SET", "requirepass", password)
		admin("CLIENT", "KILL", "TYPE", "normal") // but this one
	}
	becomes(first)
	r := startRLS(t, rulesOf(t, ruleFile(1000)), append(server.backendArgs(), "--redis-password-file", file, "--log-level", "debug")...)
	if got := code(t, r, "t", "k", "1"); got != "OK" {
		t.Errorf("%s, want OK", got)
	}
	becomes(second)
	eventually(t, "a decision with the new password", func() bool { return code(t, r, "t", "k", "1") == "OK" })
	if err := os.WriteFile(file, []byte("hunter2-wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	admin("CLIENT", "KILL", "TYPE", "normal")
	eventually(t, "a failure for want of the password", func() bool { return code(t, r, "t", "k", "1") != "OK" })
	_, _, metrics := request(t, r.HTTP, "GET", "/metrics", "")
	_, _, config := request(t, r.Admin, "GET", "/config", "")
	for _, text := range []string{r.Output(), metrics, config} {
		if strings.Contains(text, first) || strings.Contains(text, "hunter2") {
			t.Errorf("a password is shown in:\n%s", text)
		}
	}
	admin("CONFIG", "SET", "requirepass", "")
}
