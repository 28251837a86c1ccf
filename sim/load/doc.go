// Package load starts users when they are due, and measures them.
//
// The load is open: a user starts at its moment, whether or not the server has kept up with earlier
// users, and its time counts from that moment. If a server stalls for a second, all users who were
// due in that second measure it, not only the one whose operation it delayed. A load generator that
// misses this has "coordinated omission", as Gil Tene has called the mistake.
package load
