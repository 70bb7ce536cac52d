// Package machine says where figures come from: the machine, its limits and settings, the program,
// and the processes of the target. What cannot be found out is empty, or "unknown".
package machine
