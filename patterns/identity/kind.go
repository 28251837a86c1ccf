package identity

import (
	"fmt"
	"strings"
)

// Identity is what a user is known by.
type Identity struct {
	Kind, Value string
}

// Kind is a kind of identities.
type Kind struct {
	// Space is what values are unique in, together with the other kinds of that space; the kind's
	// own name if empty. It has no colon.
	Space string
	// Normalize returns the form in which two spellings of a value are the same, or says what is
	// wrong with it. Values are taken as they are if it is nil.
	Normalize func(value string) (string, error)
}

// login is the space of what people type into a field of a log-in form.
const login = "login"

// DefaultKinds are "name", "email", "phone" and "oauth". The first three share a space; by their
// forms they never look alike.
func DefaultKinds() map[string]Kind {
	return map[string]Kind{
		"name":  {Space: login, Normalize: NormalizeName},
		"email": {Space: login, Normalize: NormalizeEmail},
		"phone": {Space: login, Normalize: NormalizePhone},
		"oauth": {Normalize: NormalizeOAuth},
	}
}

// Name is the identity of someone who has chosen a name.
func Name(name string) Identity { return Identity{Kind: "name", Value: name} }

// Email is the identity of someone with an address.
func Email(address string) Identity { return Identity{Kind: "email", Value: address} }

// Phone is the identity of someone with a phone number.
func Phone(number string) Identity { return Identity{Kind: "phone", Value: number} }

// OAuth is the identity of someone who has an account elsewhere: subject is what the provider calls
// the user ("sub" of OpenID Connect).
func OAuth(provider, subject string) Identity {
	return Identity{Kind: "oauth", Value: provider + "/" + subject}
}

// NormalizeName allows letters, digits and ._- of ASCII, up to 64, beginning with a letter: other
// alphabets have letters that look the same.
func NormalizeName(value string) (string, error) {
	name := strings.ToLower(strings.TrimSpace(value))
	for i, r := range name {
		letter := r >= 'a' && r <= 'z'
		if !letter && (i == 0 || (r < '0' || r > '9') && !strings.ContainsRune("._-", r)) {
			return "", fmt.Errorf("%w name %q", ErrInvalid, value)
		}
	}
	if name == "" || len(name) > 64 {
		return "", fmt.Errorf("%w name %q", ErrInvalid, value)
	}
	return name, nil
}

// NormalizeEmail takes upper and lower case for the same, also in front of the @, as all but a few
// servers do. It keeps dots and what stands behind a plus: only their own server knows what they
// mean.
func NormalizeEmail(value string) (string, error) {
	address := strings.ToLower(strings.TrimSpace(value))
	local, domain, ok := strings.Cut(address, "@")
	if !ok || local == "" || domain == "" || len(address) > 254 || strings.ContainsAny(domain, "@") ||
		strings.ContainsAny(address, " \t\r\n\x00<>") {
		return "", fmt.Errorf("%w address %q", ErrInvalid, value)
	}
	return local + "@" + strings.TrimSuffix(domain, "."), nil
}

// NormalizePhone wants a number with its country's code and returns it in the form of E.164:
// +493012345678.
func NormalizePhone(value string) (string, error) {
	number := strings.NewReplacer(" ", "", "-", "", ".", "", "/", "", "(", "", ")", "", "\u00a0", "").Replace(value)
	if rest, ok := strings.CutPrefix(number, "00"); ok {
		number = "+" + rest
	}
	digits, ok := strings.CutPrefix(number, "+")
	if !ok || len(digits) < 7 || len(digits) > 15 || digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return "", fmt.Errorf("%w phone number %q: it should begin with + and the country's code", ErrInvalid, value)
	}
	return number, nil
}

// NormalizeOAuth takes upper and lower case of the provider's name for the same. The subject stays
// as it is.
func NormalizeOAuth(value string) (string, error) {
	provider, subject, ok := strings.Cut(value, "/")
	if !ok || provider == "" || subject == "" {
		return "", fmt.Errorf("%w account %q: it should be provider/subject", ErrInvalid, value)
	}
	return strings.ToLower(provider) + "/" + subject, nil
}

// key returns the _id of an identity.
func (s *Identities) key(id Identity) (string, error) {
	kind, ok := s.cfg.Kinds[id.Kind]
	if !ok {
		return "", fmt.Errorf("%w kind %q", ErrInvalid, id.Kind)
	}
	if id.Value == "" || len(id.Value) > MaxValue {
		return "", fmt.Errorf("%w %s of %d bytes", ErrInvalid, id.Kind, len(id.Value))
	}
	value := id.Value
	if kind.Normalize != nil {
		var err error
		if value, err = kind.Normalize(value); err != nil {
			return "", err
		}
	}
	if kind.Space == "" {
		kind.Space = id.Kind
	}
	return kind.Space + ":" + value, nil
}
