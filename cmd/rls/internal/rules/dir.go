// Package rules loads rule files, keeps the active set and replaces it when the
// files change. A set that has an error never replaces one that works.
package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/eb50146d/rls/pkg/descriptors"
)

// Read reads the rule files of a directory and of those in it, sorted by name:
// every *.yaml and *.yml, in compat mode every file. Names that begin with a dot
// are left out, and so are the directories behind a Kubernetes ConfigMap's links.
// The path of one file is taken as well.
//
// The error is of the directory. A file that cannot be read is a source with an
// error, which refuses the set when it is compiled; a directory inside that cannot
// be read is left out, as nobody could have put a rule there for us.
func Read(path string, o Options) ([]descriptors.Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, reading(path, err)
	}
	if !info.IsDir() {
		data, err := readFile(path)
		if err != nil {
			return nil, reading(path, err)
		}
		return []descriptors.Source{{Name: path, Data: data}}, nil
	}
	var sources []descriptors.Source
	root := path + string(filepath.Separator) // follows a link to a directory
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name != root && errors.Is(err, fs.ErrPermission) && entry.IsDir():
			return filepath.SkipDir
		case err != nil:
			return err
		case name != root && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir() || !o.Compat && !isRuleFile(name):
			return nil
		}
		data, err := readFile(name)
		sources = append(sources, descriptors.Source{Name: filepath.Join(path, strings.TrimPrefix(name, root)), Data: data, Err: err})
		return nil
	})
	if err != nil {
		return nil, reading(path, err)
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("reading rules: %s has no *.yaml or *.yml file", path)
	}
	return sources, nil
}

// maxFile is one byte more than a rule file may have, so that a longer one is
// seen to be longer.
const maxFile = descriptors.MaxBytes + 1

// readFile reads a regular file. It does not wait for the other end of a pipe,
// and does not read what has no end.
func readFile(name string) (data []byte, err error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator names the directory
	if err != nil {
		return nil, cause(err)
	}
	defer func() { err = errors.Join(err, cause(file.Close())) }()
	info, err := file.Stat()
	if err != nil {
		return nil, cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	data, err = io.ReadAll(io.LimitReader(file, maxFile))
	return data, cause(err)
}

// cause is an error without the path, which its user names.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// reading says once which path could not be read.
func reading(path string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		path = at.Path
	}
	return fmt.Errorf("reading rules: %s: %w", path, cause(err))
}

func isRuleFile(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

// Compile compiles the files of a directory.
func Compile(sources []descriptors.Source, o Options) (*descriptors.Tree, descriptors.Findings) {
	return descriptors.Compile(sources, descriptors.Options{MergeDomains: o.MergeDomains})
}

// hash tells two sets of files apart, by contents and by names below the
// directory, so that replicas which mount it elsewhere agree.
func hash(dir string, sources []descriptors.Source) string {
	h := sha256.New()
	for _, s := range sources {
		name := strings.TrimPrefix(s.Name, filepath.Clean(dir))
		fault := ""
		if s.Err != nil {
			fault = s.Err.Error()
		}
		for _, part := range [][]byte{[]byte(name), s.Data, []byte(fault)} {
			h.Write(binary.AppendUvarint(nil, uint64(len(part))))
			h.Write(part)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
