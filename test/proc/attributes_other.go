//go:build !linux

package proc

import "syscall"

// attributes are the defaults.
func attributes() *syscall.SysProcAttr { return nil }
