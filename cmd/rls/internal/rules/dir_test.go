package rules

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConfigMap: Kubernetes shows each file as a link through ..data to a
// directory with a time in its name, and swaps that link.
func TestConfigMap(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("..2026_01/rules.yaml", one)
	link := func(to, name string) {
		t.Helper()
		temporary := filepath.Join(p.dir, "..tmp")
		if err := os.Symlink(to, temporary); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(temporary, filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("..2026_01", "..data")
	link("..data/rules.yaml", "rules.yaml")
	if err := p.loader.Load(); err != nil {
		t.Fatal(err)
	}
	p.want(1, 1, 0)
	p.write("..2026_02/rules.yaml", two)
	link("..2026_02", "..data")
	p.polls(settled)
	p.want(2, 2, 0)
}

// TestRead: what counts as a rule file.
func TestRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, name := range []string{
		"b.yaml", "a.yml", "sub/c.yaml", "sub/.d.yaml", ".e.yaml", ".git/f.yaml", "g.yaml~", ".h.yaml.swp", "README.md", "i.json", "..j/k.yaml",
	} {
		p.write(name, name)
	}
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(p.dir, linked); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{p.dir, linked, p.dir + "/"} {
		sources, err := Read(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range sources {
			got = append(got, string(s.Data))
		}
		if diff := cmp.Diff([]string{"a.yml", "b.yaml", "sub/c.yaml"}, got); diff != "" {
			t.Error(diff)
		}
	}
	every, err := Read(p.dir, Options{Compat: true})
	if err != nil || len(every) != 6 { // and g.yaml~, README.md, i.json
		t.Errorf("%d files, %v, want every name without a dot in front", len(every), err)
	}
	sources, err := Read(filepath.Join(p.dir, "b.yaml"), Options{})
	if err != nil || len(sources) != 1 {
		t.Errorf("%v, %v, want the one file", sources, err)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, row := range []struct{ name, path, want string }{
		{"missing", "no/such/dir", "reading rules: no/such/dir: no such file or directory"},
		{"empty", empty, "reading rules: " + empty + " has no *.yaml or *.yml file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Read(row.path, Options{}); err == nil || err.Error() != row.want {
				t.Errorf("error %v, want %s", err, row.want)
			}
		})
	}
}

// TestFilesThatCannotBeRead refuse the set with their names, and heal; nobody
// waits for a pipe or reads what has no end.
func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		make func(path string) error
		want string
	}{
		{"link to nothing", func(path string) error { return os.Symlink("nowhere", path) }, "no such file or directory"},
		{"link to a directory", func(path string) error { return os.Symlink("/", path) }, "it is no regular file"},
		{"pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "it is no regular file"},
		{"without end", func(path string) error { return os.Symlink("/dev/zero", path) }, "it is no regular file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("rules.yaml", one)
			if err := row.make(filepath.Join(p.dir, "odd.yaml")); err != nil {
				t.Fatal(err)
			}
			if err := p.loader.Load(); err != nil {
				t.Fatal(err)
			}
			p.want(0, 0, 1)
			want := filepath.Join(p.dir, "odd.yaml") + ":1:1: the file cannot be read: " + row.want
			if diff := cmp.Diff([]string{want}, p.loader.State().Errors); diff != "" {
				t.Error(diff)
			}
			remove(t, filepath.Join(p.dir, "odd.yaml"))
			p.polls(settled)
			p.want(1, 1, 1)
		})
	}
}

// TestHashIsOfContents: replicas that mount the same files elsewhere agree.
func TestHashIsOfContents(t *testing.T) {
	t.Parallel()
	var hashes []string
	for _, text := range []string{one, one, two} {
		p := newPlace(t)
		p.write("sub/rules.yaml", text)
		if err := p.loader.Load(); err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, p.loader.Active().Hash)
	}
	if hashes[0] != hashes[1] || hashes[1] == hashes[2] {
		t.Errorf("hashes %q, want the first two alike", hashes)
	}
}
