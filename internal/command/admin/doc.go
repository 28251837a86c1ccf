// Package admin has the commands that describe and steer the server: serverStatus, validate, hello,
// fsync and others. Each command, or family of small ones, is a file.
package admin
