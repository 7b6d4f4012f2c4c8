package store

import (
	"cmp"
	"fmt"

	"github.com/eb50146d/rls/cmd/rls/internal/settings"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// credentials are those of servers: what a URL says and what the other flags say,
// which must not say the same twice.
func credentials(s *settings.Redis, flag string, inURL redis.Credentials) (redis.Credentials, error) {
	var urlUser, urlPassword string
	if inURL != nil {
		var err error
		if urlUser, urlPassword, err = inURL(); err != nil {
			return nil, err
		}
	}
	user, password := split(s.Auth)
	secret := ""
	switch {
	case s.Auth != "":
		secret = flag + "-auth"
	case s.PasswordFile != "":
		secret = flag + "-password-file"
	case s.Password != "":
		secret, password = flag+"-password", s.Password
	}
	from := flag + "-auth"
	if s.Username != "" {
		from, user = flag+"-username", s.Username
	}
	switch {
	case urlPassword != "" && secret != "":
		return nil, fmt.Errorf("%s-url has a password, and so has %s; give one of them", flag, secret)
	case urlUser != "" && user != "" && user != urlUser:
		return nil, fmt.Errorf("%s-url names another user than %s; give one of them", flag, from)
	}
	user = cmp.Or(user, urlUser)
	switch {
	case s.PasswordFile != "":
		return fromFile(user, s.PasswordFile), nil
	case user == "" && secret == "":
		return inURL, nil
	case secret == "" && urlPassword == "" && urlUser != "":
		return nil, fmt.Errorf("%[1]s-url has a user without a password; a password alone has a colon before it, redis://:password@host, and that of a user is given by %[1]s-password-file", flag)
	case secret == "" && urlPassword == "":
		return nil, fmt.Errorf("a user of redis is given without a password; add %s-password-file", flag)
	}
	return fixed(user, cmp.Or(password, urlPassword)), nil
}
