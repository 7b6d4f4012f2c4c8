package redis

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

const (
	defaultPort         = "6379"
	defaultSentinelPort = "26379"
)

// ParseURL reads where Redis is:
//
//	redis://[user[:password]@]host[:port][/database]
//	unix://[user[:password]@]/path
//	redis-sentinel://[user[:password]@]host[:port],…/master[/database]
//	redis-cluster://[user[:password]@]host[:port],…
//
// rediss in place of redis is with TLS. User, password, master and path are
// percent-encoded. With sentinels the user and password are the server's; those
// of sentinels are set in Options. An error shows nothing of the URL.
func ParseURL(text string) (Options, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Options{}, errors.New("the URL of redis has no scheme")
	}
	if strings.ContainsAny(rest, "?#") {
		return Options{}, errors.New("the URL of redis has ? or #, must be percent-encoded")
	}
	var o Options
	if secure, yes := strings.CutPrefix(scheme, "rediss"); yes {
		scheme = "redis" + secure
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	place, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(place, '@'); at >= 0 {
		if err := o.readUser(place[:at]); err != nil {
			return Options{}, err
		}
		place = place[at+1:]
	}
	if err := o.readPlace(scheme, place, path); err != nil {
		return Options{}, err
	}
	return o, nil
}

func (o *Options) readUser(text string) error {
	user, password, secret := strings.Cut(text, ":")
	user, err := url.PathUnescape(user)
	if err != nil {
		return errors.New("the user in the URL of redis is not percent-encoded")
	}
	if password, err = url.PathUnescape(password); err != nil {
		return errors.New("the password in the URL of redis is not percent-encoded")
	}
	if user != "" || secret {
		o.Credentials = func() (string, string, error) { return user, password, nil }
	}
	return nil
}

func (o *Options) readPlace(scheme, place, path string) (err error) {
	port := defaultPort
	switch scheme {
	case "redis":
		if strings.Contains(place, ",") {
			return errors.New("the URL of a single redis has several hosts")
		}
	case "redis-cluster":
		o.Mode = Cluster
		if path != "" {
			return errors.New("the URL of a redis cluster has a path")
		}
	case "redis-sentinel":
		o.Mode, port = Sentinel, defaultSentinelPort
		var master string
		master, path, _ = strings.Cut(path, "/")
		if o.Master, err = url.PathUnescape(master); err != nil || master == "" {
			return errors.New("the URL of redis sentinels names no master")
		}
	case "unix":
		if path, err = url.PathUnescape(path); err != nil || place != "" || path == "" {
			return errors.New("the URL of a socket of redis has no absolute path")
		}
		o.Addrs = []string{"/" + path}
		return nil
	default:
		return errors.New("the scheme of the URL of redis is unknown, must be redis, rediss, unix, " +
			"redis-sentinel, rediss-sentinel, redis-cluster or rediss-cluster")
	}
	if path != "" {
		if o.Database, err = strconv.Atoi(path); err != nil || o.Database < 0 {
			return errors.New("the database in the URL of redis is no number")
		}
	}
	return o.readHosts(place, port)
}

func (o *Options) readHosts(text, defaultPort string) error {
	for place := range strings.SplitSeq(text, ",") {
		if !strings.Contains(place[strings.LastIndexByte(place, ']')+1:], ":") {
			place += ":" + defaultPort
		}
		host, port, err := net.SplitHostPort(place)
		if err != nil || host == "" {
			return errors.New("the URL of redis has no host, or one of another form than host:port")
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("the port in the URL of redis is no number from 1 to 65535")
		}
		o.Addrs = append(o.Addrs, net.JoinHostPort(host, port))
	}
	return nil
}
