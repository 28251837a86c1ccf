package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestMisspeltVariableIsWarnedOf sets environment variables that name no setting of serve.
func TestMisspeltVariableIsWarnedOf(t *testing.T) {
	for _, name := range []string{"SHEAF_MAX_CONECTIONS", "SHEAF_SIM_TOKEN"} {
		t.Setenv(name, "5")
	}
	t.Setenv("SHEAF_LOG_LEVEL", "warn")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var log bytes.Buffer
	root := newRoot()
	root.SetArgs([]string{"serve", "--memory", "--port", "0", "--log-format", "text"})
	root.SetErr(&log)
	_ = root.ExecuteContext(ctx) // ctx has ended, so the command ends immediately
	if !strings.Contains(log.String(), "variable=SHEAF_MAX_CONECTIONS nearest=SHEAF_MAX_CONNECTIONS") {
		t.Errorf("no warning in %q", &log)
	}
	for _, known := range []string{"variable=SHEAF_LOG_LEVEL", "variable=SHEAF_SIM_TOKEN"} {
		if strings.Contains(log.String(), known) {
			t.Errorf("a warning of %s in %q", known, &log)
		}
	}
}

// TestUnknownSettingNamesTheNearest: for a misspelt key in the configuration file, the error
// suggests the right key.
func TestUnknownSettingNamesTheNearest(t *testing.T) {
	_, _, err := sheafCommand(t, "serve", "--config", writeFile(t, "sheaf.yaml", "max-conections: 5\n"))
	if err == nil || !strings.Contains(err.Error(), "did you mean max-connections?") {
		t.Errorf("got %v", err)
	}
}
