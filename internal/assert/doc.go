// Package assert says whether the invariants whose check has a measured cost are asserted: with the build tag
// reactordebug. What costs nothing is asserted in every build and does not ask.
package assert
