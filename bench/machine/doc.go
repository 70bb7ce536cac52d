// Package machine describes where figures come from. [This] returns the machine, its limits and settings, and the
// version of the program. [Listeners] finds the processes of the target, and [Use] reads what they use.
//
// What cannot be found out is empty, 0 or [Unknown]. Nothing here changes the machine.
package machine
