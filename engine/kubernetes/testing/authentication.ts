/** Who calls (docs/specification.md#authentication). */
import { accepts, chars, refuses, SERVICE, type Table, times, traffic } from './case.ts'

const POST = 'traffic.phase: "PostRouting"'
/** RFC 8037, appendix A.2. */
const KEYS = JSON.stringify({
  keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }]
})
const REMOTE = { jwksPath: '.well-known/jwks.json', backendRef: SERVICE }
const PROVIDER = { issuer: 'https://issuer.example', jwks: { remote: REMOTE } }
const USER = 'a:$apr1$mM5Evj4R$Z0hTnHPNQQGVAjlIJ3U1v.'

const jwt = (fields: object) => traffic({ jwtAuthentication: fields })
const basic = (fields: object) => traffic({ basicAuthentication: fields })
const apiKey = (fields: object) => traffic({ apiKeyAuthentication: fields })
const keys = (fields: object) => traffic({ virtualKeys: fields })

export const authentications: Table = {
  accepted: accepts('GatewayPolicy', [
    [
      'tokens',
      jwt({
        mode: 'Permissive',
        providers: [
          { issuer: 'https://issuer.example', audiences: ['edge'], jwks: { inline: KEYS, minRsaExponent: 65_537 } },
          { issuer: 'https://other.example', jwks: { remote: { ...REMOTE, cacheDuration: '1m' } } }
        ],
        leeway: '10s',
        location: { header: { name: 'x-token', prefix: 'Bearer ' } },
        jwtValidationOptions: { requiredClaims: ['sub'] }
      }),
      [POST]
    ],
    [
      'tokens by their defaults',
      jwt({ providers: [PROVIDER] }),
      [
        'traffic.jwtAuthentication.mode: "Strict"',
        'traffic.jwtAuthentication.providers[0].jwks.remote.cacheDuration: "5m"',
        POST
      ]
    ],
    ['passwords', basic({ users: [USER], mode: 'Optional', realm: 'Staff' }), [POST]],
    [
      'passwords of a secret',
      basic({ secretRef: { name: 'users' } }),
      ['traffic.basicAuthentication.mode: "Strict"', 'traffic.basicAuthentication.realm: "Restricted"', POST]
    ],
    [
      'keys of a secret',
      apiKey({ secretRef: { name: 'keys' }, location: { queryParameter: { name: 'key' } } }),
      ['traffic.apiKeyAuthentication.mode: "Strict"', POST]
    ],
    [
      'keys with limits, of secrets',
      keys({ secretSelector: { matchLabels: { team: 'a' } }, unknownPrice: 'Allow' }),
      ['traffic.virtualKeys.mode: "Strict"', POST]
    ],
    [
      'keys with limits, of a secret',
      keys({ mode: 'Optional', secretRef: { name: 'keys' }, location: { header: { name: 'x-api-key' } } }),
      ['traffic.virtualKeys.unknownPrice: "Refuse"', POST]
    ],
    [
      'keys of secrets by their labels',
      apiKey({
        mode: 'Optional',
        secretSelector: { matchLabels: { team: 'a' } },
        location: { cookie: { name: 'key' } }
      }),
      [POST]
    ]
  ]),
  refused: refuses('GatewayPolicy', [
    ['no issuers', jwt({ mode: 'Strict' }), 'traffic.jwtAuthentication.providers', 'Required'],
    [
      'an empty list of issuers',
      jwt({ providers: [] }),
      'traffic.jwtAuthentication.providers',
      'should have at least 1 items'
    ],
    [
      'too many issuers',
      jwt({ providers: times(65, (i) => ({ ...PROVIDER, issuer: `a${i}` })) }),
      'traffic.jwtAuthentication.providers',
      'must have at most 64 items'
    ],
    [
      'a mode that is not known',
      jwt({ mode: 'Lax', providers: [PROVIDER] }),
      'traffic.jwtAuthentication.mode',
      'supported values: "Strict", "Optional", "Permissive"'
    ],
    [
      'the spelling of files',
      jwt({ mode: 'strict', providers: [PROVIDER] }),
      'traffic.jwtAuthentication.mode',
      'Unsupported value'
    ],
    [
      'an issuer without a name',
      jwt({ providers: [{ jwks: PROVIDER.jwks }] }),
      'traffic.jwtAuthentication.providers[0].issuer',
      'Required'
    ],
    [
      'an issuer that is too long',
      jwt({ providers: [{ ...PROVIDER, issuer: chars(257) }] }),
      'traffic.jwtAuthentication.providers[0].issuer',
      'may not be more than 256'
    ],
    [
      'no audiences',
      jwt({ providers: [{ ...PROVIDER, audiences: [] }] }),
      'traffic.jwtAuthentication.providers[0].audiences',
      'should have at least 1 items'
    ],
    [
      'too many audiences',
      jwt({ providers: [{ ...PROVIDER, audiences: times(65, (i) => `a${i}`) }] }),
      'traffic.jwtAuthentication.providers[0].audiences',
      'must have at most 64 items'
    ],
    [
      'an issuer without keys',
      jwt({ providers: [{ issuer: 'a' }] }),
      'traffic.jwtAuthentication.providers[0].jwks',
      'Required'
    ],
    [
      'keys from nowhere',
      jwt({ providers: [{ issuer: 'a', jwks: {} }] }),
      'traffic.jwtAuthentication.providers[0].jwks',
      'must have exactly one of inline, remote'
    ],
    [
      'keys from two places',
      jwt({ providers: [{ issuer: 'a', jwks: { inline: KEYS, remote: REMOTE } }] }),
      'traffic.jwtAuthentication.providers[0].jwks',
      'must have exactly one of inline, remote'
    ],
    [
      'keys with limits, of two places',
      keys({ secretRef: { name: 'keys' }, secretSelector: { matchLabels: { team: 'a' } } }),
      'traffic.virtualKeys',
      'must have at most one of secretRef, secretSelector'
    ],
    [
      'a word that unknown prices have not',
      keys({ unknownPrice: 'Maybe' }),
      'traffic.virtualKeys.unknownPrice',
      'Unsupported value'
    ],
    [
      'keys that are too short',
      jwt({ providers: [{ issuer: 'a', jwks: { inline: '{' } }] }),
      'traffic.jwtAuthentication.providers[0].jwks.inline',
      'should be at least 2 chars'
    ],
    [
      'keys that are too long',
      jwt({ providers: [{ issuer: 'a', jwks: { inline: chars(65_537) } }] }),
      'traffic.jwtAuthentication.providers[0].jwks.inline',
      'may not be more than 65536'
    ],
    [
      'keys without a path',
      jwt({ providers: [{ issuer: 'a', jwks: { remote: { backendRef: SERVICE } } }] }),
      'traffic.jwtAuthentication.providers[0].jwks.remote.jwksPath',
      'Required'
    ],
    [
      'keys without a server',
      jwt({ providers: [{ issuer: 'a', jwks: { remote: { jwksPath: 'a' } } }] }),
      'traffic.jwtAuthentication.providers[0].jwks.remote.backendRef',
      'Required'
    ],
    [
      'a path that is too long',
      jwt({ providers: [{ issuer: 'a', jwks: { remote: { ...REMOTE, jwksPath: chars(2001) } } }] }),
      'traffic.jwtAuthentication.providers[0].jwks.remote.jwksPath',
      'may not be more than 2000'
    ],
    [
      'a whole address',
      jwt({ providers: [{ issuer: 'a', jwks: { remote: { ...REMOTE, jwksPath: 'https://a/b' } } }] }),
      'traffic.jwtAuthentication.providers[0].jwks.remote.jwksPath',
      'must be a path from the root of the backend'
    ],
    ['no users', basic({ mode: 'Strict' }), 'traffic.basicAuthentication', 'must have exactly one of users, secretRef'],
    [
      'users of two places',
      basic({ users: [USER], secretRef: { name: 'a' } }),
      'traffic.basicAuthentication',
      'must have exactly one of users, secretRef'
    ],
    [
      'an empty list of users',
      basic({ users: [] }),
      'traffic.basicAuthentication.users',
      'should have at least 1 items'
    ],
    [
      'too many users',
      basic({ users: times(257, () => USER) }),
      'traffic.basicAuthentication.users',
      'must have at most 256 items'
    ],
    [
      'a mode of tokens',
      basic({ mode: 'Permissive', users: [USER] }),
      'traffic.basicAuthentication.mode',
      'supported values: "Strict", "Optional"'
    ],
    ['a secret without a name', basic({ secretRef: {} }), 'traffic.basicAuthentication.secretRef.name', 'Required'],
    [
      'no keys',
      apiKey({ mode: 'Strict' }),
      'traffic.apiKeyAuthentication',
      'must have exactly one of secretRef, secretSelector'
    ],
    [
      'keys of two places',
      apiKey({ secretRef: { name: 'a' }, secretSelector: { matchLabels: { a: 'b' } } }),
      'traffic.apiKeyAuthentication',
      'must have exactly one of secretRef, secretSelector'
    ],
    [
      'no labels',
      apiKey({ secretSelector: {} }),
      'traffic.apiKeyAuthentication.secretSelector.matchLabels',
      'Required'
    ],
    [
      'labels of all secrets',
      apiKey({ secretSelector: { matchLabels: {} } }),
      'traffic.apiKeyAuthentication.secretSelector.matchLabels',
      'should have at least 1 properties'
    ],
    [
      'a mode of keys that is not known',
      apiKey({ mode: 'Permissive', secretRef: { name: 'a' } }),
      'traffic.apiKeyAuthentication.mode',
      'supported values: "Strict", "Optional"'
    ],
    [
      'keys in place',
      apiKey({ secretRef: { name: 'a' }, keys: [{ key: 'k' }] }),
      'traffic.apiKeyAuthentication.keys',
      'unknown field'
    ],
    [
      'two places of a key',
      apiKey({ secretRef: { name: 'a' }, location: { cookie: { name: 'a' }, queryParameter: { name: 'a' } } }),
      'traffic.apiKeyAuthentication.location',
      'must have exactly one of header, queryParameter, cookie'
    ]
  ])
}
