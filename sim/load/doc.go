// Package load starts users when they are due, and measures them.
//
// The load is open: a user starts at its moment, whether or not the server has kept up with those before it, and its time counts from that moment. A
// server that stalls for a second is seen by everyone who was due in it, not only by the one whose operation it held up ("coordinated omission", as
// Gil Tene has called the mistake).
package load
