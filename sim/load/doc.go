// Package load starts users when they are due, and measures them.
//
// The load is open: a user starts when it is due, whether or not the server has kept up with
// earlier users, and its latency counts from that moment. If a server stalls for a second, all
// users who were due in that second measure the stall, not only the one whose operation it delayed.
// A load generator that measures only that operation makes the mistake that Gil Tene has called
// "coordinated omission".
package load
