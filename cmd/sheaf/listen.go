package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// allAddresses is the value of --bind for every address of the machine, as in mongod.
const allAddresses = "*"

// listen opens all listeners. It runs before the store is opened, so a port in use fails fast.
func (f *serveFlags) listen(ctx context.Context) ([]net.Listener, error) {
	var out []net.Listener
	if f.port >= 0 {
		tcp, err := listenTCP(ctx, f.bind, f.port)
		if err != nil {
			return nil, err
		}
		out = tcp
	}
	if f.unixSocket != "" {
		l, err := listenUnix(ctx, f.unixSocket)
		if err != nil {
			closeAll(out)
			return nil, err
		}
		out = append(out, l)
	}
	if len(out) == 0 {
		return nil, errors.New("nothing to listen on: set --port or --unix-socket")
	}
	return out, nil
}

type bindAddress struct {
	net.IPAddr
	// oneOfMany says that the address came from a name or from "*". If the machine lacks such an
	// address, the server skips it. It is an error if every address is skipped.
	oneOfMany bool
}

func (a bindAddress) isIPv4() bool { return a.IP.To4() != nil }

// listenTCP listens on one port of each address. If port is 0, all addresses get the same free
// port.
func listenTCP(ctx context.Context, bind string, port int) ([]net.Listener, error) {
	addresses, err := resolveBind(ctx, bind)
	if err != nil {
		return nil, err
	}
	var out []net.Listener
	var lc net.ListenConfig
	var absent error
	for _, a := range addresses {
		l, err := lc.Listen(ctx, networkOf(a, addresses), net.JoinHostPort(a.String(), strconv.Itoa(port)))
		if a.oneOfMany && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)) {
			absent = explainListen(a.String(), port, err)
			continue
		}
		if err != nil {
			closeAll(out)
			return nil, explainListen(a.String(), port, err)
		}
		if tcp, ok := l.Addr().(*net.TCPAddr); ok {
			port = tcp.Port
		}
		out = append(out, l)
	}
	if len(out) == 0 {
		return nil, absent
	}
	return out, nil
}

// resolveBind resolves --bind to addresses. A name stands for all of its addresses. Duplicates are
// removed.
func resolveBind(ctx context.Context, bind string) ([]bindAddress, error) {
	var out []bindAddress
	add := func(oneOfMany bool, ips ...net.IPAddr) {
		for _, ip := range ips {
			same := func(o bindAddress) bool { return o.IP.Equal(ip.IP) && o.Zone == ip.Zone }
			if !slices.ContainsFunc(out, same) {
				out = append(out, bindAddress{ip, oneOfMany})
			}
		}
	}
	for entry := range strings.SplitSeq(bind, ",") {
		host := strings.Trim(strings.TrimSpace(entry), "[]")
		switch host {
		case "":
			return nil, fmt.Errorf("--bind %q has an empty address; give addresses separated by commas, such as 127.0.0.1,::1", bind)
		case allAddresses:
			add(true, net.IPAddr{IP: net.IPv4zero}, net.IPAddr{IP: net.IPv6unspecified})
			continue
		}
		found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
		if err != nil {
			return nil, fmt.Errorf("--bind %s: this machine cannot resolve the name; use an address such as 127.0.0.1: %w", host, err)
		}
		add(len(found) > 1, found...)
	}
	return out, nil
}

// networkOf returns the network to listen on. A listener on the IPv6 wildcard usually also takes
// IPv4 connections. It must not do so if the list also has an IPv4 address, because both would
// claim the same port.
func networkOf(a bindAddress, all []bindAddress) string {
	switch {
	case a.isIPv4():
		return "tcp4"
	case slices.ContainsFunc(all, bindAddress.isIPv4):
		return "tcp6"
	default:
		return "tcp"
	}
}

// listenUnix listens on a socket file that only its owner can use. It replaces the socket of a
// server that has ended, but no other kind of file.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	lc := net.ListenConfig{Control: ownerOnly}
	l, err := lc.Listen(ctx, "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err := removeDeadSocket(ctx, path); err != nil {
			return nil, err
		}
		l, err = lc.Listen(ctx, "unix", path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on --unix-socket %s: %w", path, err)
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot protect the socket %s: %w", path, err), l.Close())
	}
	return l, nil
}

// socketMode lets only the owner of a socket connect.
const socketMode = 0o700

// removeDeadSocket removes the socket of a server that has ended.
func removeDeadSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("cannot look at --unix-socket %s: %w", path, err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket; give another --unix-socket, or remove it yourself", path)
	}
	var d net.Dialer
	if c, dialErr := d.DialContext(ctx, "unix", path); dialErr == nil {
		_ = c.Close()
		return fmt.Errorf("another server listens on %s; give another --unix-socket", path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("cannot remove the old socket: %w", err)
	}
	return nil
}

func closeAll(ls []net.Listener) {
	for _, l := range ls {
		_ = l.Close()
	}
}

// explainListen adds to an error what the user can do if an address cannot be used.
func explainListen(host string, port int, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d on %s is in use, perhaps by another server; give another --port (0 picks a free one)", port, host)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("no permission to listen on port %d; give a --port above 1023", port)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("this machine has no address %s; give another --bind", host)
	default:
		return fmt.Errorf("cannot listen on %s: %w", host, err)
	}
}
