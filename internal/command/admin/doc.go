// Package admin implements the commands that describe and administer the server, such as
// serverStatus, validate, hello and fsync. Each command, or family of small commands, has its own
// file.
package admin
