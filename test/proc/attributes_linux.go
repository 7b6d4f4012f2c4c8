package proc

import "syscall"

// attributes keep Ctrl-C from the program, so that it is ended in order, and end it
// with the process that started it, however that ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
