// Package assert says whether this build checks the invariants whose check has a measured cost. Builds with the tag
// reactordebug check them: [Enabled] is true there. Checks without a measured cost are made in every build, and do not
// use this package.
package assert
