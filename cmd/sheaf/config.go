package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// envPrefix begins the name of each environment variable: SHEAF_MAX_CONNECTIONS sets
// --max-connections.
const envPrefix = "SHEAF_"

// applyConfig sets flags that are not on the command line. It takes a value from the environment,
// or else from the YAML file that --config names. The keys of the file are the names of the flags.
func applyConfig(cmd *cobra.Command) error {
	flags := cmd.Flags()
	if err := setFromEnvironment(flags); err != nil {
		return err
	}
	path, err := flags.GetString("config")
	if err != nil || path == "" {
		return err
	}
	return setFromFile(flags, path)
}

func setFromEnvironment(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := variableOf(f)
		value, ok := os.LookupEnv(name)
		if f.Changed || !ok || f.Name == "help" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s=%q: %w", name, value, err))
		}
	})
	return errors.Join(errs...)
}

// simVariables is the prefix of the environment variables of sheaf sim. The command serve ignores
// them.
const simVariables = envPrefix + "SIM_"

// strayVariable is an environment variable that begins with envPrefix, but sets no flag.
type strayVariable struct{ name, nearest string }

// strayVariables returns the environment variables with the prefix SHEAF_ that set no flag, so that
// serve can warn of them. A misspelt variable would otherwise leave its flag at the default.
func strayVariables(flags *pflag.FlagSet, environ []string) (stray []strayVariable) {
	known := namesOf(flags, variableOf)
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, envPrefix) && !strings.HasPrefix(name, simVariables) &&
			!slices.Contains(known, name) {
			stray = append(stray, strayVariable{name, nearest(name, known)})
		}
	}
	return stray
}

func (f *serveFlags) warnOfVariables(log *slog.Logger) {
	for _, v := range f.stray {
		log.Warn("An environment variable has no effect: no setting has this name", "c", "CONTROL", "variable", v.name, "nearest", v.nearest)
	}
}

func variableOf(f *pflag.Flag) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// namesOf applies name to each flag, and returns the results.
func namesOf(flags *pflag.FlagSet, name func(*pflag.Flag) string) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, name(f)) })
	return names
}

// nearest returns the name with the smallest edit distance to text.
func nearest(text string, names []string) string {
	return slices.MinFunc(names, func(a, b string) int {
		return levenshtein.ComputeDistance(text, a) - levenshtein.ComputeDistance(text, b)
	})
}

func setFromFile(flags *pflag.FlagSet, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the configuration file: %w", err)
	}
	settings := map[string]any{}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&settings); err != nil && len(bytes.TrimSpace(data)) > 0 {
		return fmt.Errorf("configuration file %s is not valid YAML: %w", path, err)
	}
	for name, value := range settings {
		f := flags.Lookup(name)
		if f == nil || name == "config" {
			return fmt.Errorf("configuration file %s: unknown setting %q; did you mean %s? The settings are the flags of 'sheaf serve --help'",
				path, name, nearest(name, namesOf(flags, func(f *pflag.Flag) string { return f.Name })))
		}
		if f.Changed {
			continue
		}
		if err := flags.Set(name, settingText(value)); err != nil {
			return fmt.Errorf("configuration file %s: %s: %w", path, name, err)
		}
	}
	return nil
}

// settingText converts a YAML value to the text of a flag. The values of a list are joined by
// commas.
func settingText(v any) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = fmt.Sprint(e)
	}
	return strings.Join(parts, ",")
}
