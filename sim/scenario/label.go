package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Label returns a short name for the kind of an error, so that errors can be counted by kind: the
// server's name of the error code, "timeout", "network", or the first words of the error's text.
func Label(err error) string {
	var command mongo.CommandError
	var write mongo.WriteException
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case mongo.IsTimeout(err):
		return "timeout"
	case errors.As(err, &command) && command.Name != "":
		return command.Name
	case errors.As(err, &write) && len(write.WriteErrors) > 0:
		return fmt.Sprintf("write error %d", write.WriteErrors[0].Code)
	case mongo.IsNetworkError(err):
		return "network"
	}
	return shortened(err.Error())
}

// shortened removes the parts of an error's text that differ between errors of the same kind:
// numbers, and everything after the second colon.
func shortened(text string) string {
	parts := strings.SplitN(text, ":", 3)
	text = strings.Join(parts[:min(2, len(parts))], ":")
	text = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '#'
		}
		return r
	}, text)
	const limit = 80
	if runes := []rune(text); len(runes) > limit {
		text = string(runes[:limit]) + "…"
	}
	return text
}
