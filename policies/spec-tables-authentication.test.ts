/** The specification's tables of JWT, basic and API-key authentication, row by row, as spec-tables.test.ts. */
import { letters, NAME_LONG, NO_DURATION, names, ROUTE, type Table, times, walk } from '#engine/testing/spec-table.ts'

const KEY_SET = JSON.stringify({
  keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }]
})
/** A key set of so many characters. */
const keySet = (count: number) => KEY_SET.replace('{', `{${' '.repeat(count - KEY_SET.length)}`)
const provider = (fields: object = {}) => ({ issuer: 'https://a.test', jwks: { inline: KEY_SET }, ...fields })
const jwt = (fields: object) => ({ jwtAuthentication: { providers: [provider(fields)] } })
const one = (fields: object) => ({ jwtAuthentication: { ...provider(), ...fields } })
const remote = (fields: object) => ({ jwks: { remote: { jwksPath: 'jwks.json', host: 'idp:443', ...fields } } })
const AT = 'jwtAuthentication.providers[0]'
const NO_SERVICE = `${AT}.jwks.remote: must have exactly one of backendRef, backend, host`

/** htpasswd: {SHA} of "password". */
const LINE = ':{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='
const users = (count: number) => times(count, (i) => `u${i}${LINE}`)
const basic = (fields: object) => ({ basicAuthentication: { users: users(1), ...fields } })
const apiKey = (fields: object) => ({ apiKeyAuthentication: fields })

const AUTHENTICATION: Table = {
  'JWTAuthentication.mode: enum': [
    ['Strict', 'Optional', 'Permissive'].map((mode) => one({ mode })),
    [[one({ mode: 'Lax' }), 'jwtAuthentication.mode: must be one of Strict, Optional, Permissive']]
  ],
  'JWTAuthentication.providers: 1..64, required': [
    [jwt({}), { jwtAuthentication: { providers: times(64, (i) => provider({ issuer: `https://${i}.test` })) } }],
    [
      [{ jwtAuthentication: {} }, 'jwtAuthentication: must have exactly one of providers, issuer'],
      [{ jwtAuthentication: { providers: [] } }, 'jwtAuthentication.providers: must have 1 to 64 entries'],
      [
        { jwtAuthentication: { providers: times(65, (i) => provider({ issuer: `https://${i}.test` })) } },
        'jwtAuthentication.providers: must have 1 to 64 entries'
      ]
    ]
  ],
  'JWTProvider.issuer: ShortString, required': [
    [jwt({ issuer: letters(256) })],
    [
      [jwt({ issuer: '' }), `${AT}.issuer: must not be empty`],
      [jwt({ issuer: letters(257) }), `${AT}.issuer: ${NAME_LONG}`],
      [jwt({ issuer: undefined }), `${AT}.issuer: is required`]
    ]
  ],
  'JWTProvider.audiences: 1..64': [
    [jwt({ audiences: ['a'] }), jwt({ audiences: names(64) })],
    [
      [jwt({ audiences: [] }), `${AT}.audiences: must have 1 to 64 entries`],
      [jwt({ audiences: names(65) }), `${AT}.audiences: must have 1 to 64 entries`],
      [jwt({ audiences: [5] }), `${AT}.audiences[0]: must be a text, not 5`]
    ]
  ],
  'JWKS: required, exactly one of remote, inline (and of what the file adds)': [
    [],
    [
      [jwt({ jwks: undefined }), `${AT}.jwks: is required`],
      [jwt({ jwks: {} }), `${AT}.jwks: must have exactly one of inline, file, url, remote`],
      [
        jwt({ jwks: { inline: KEY_SET, url: 'https://a.test' } }),
        `${AT}.jwks: must have exactly one of inline, file, url, remote, not inline and url`
      ]
    ]
  ],
  'JWKS.inline: 2..65536 characters, a JSON Web Key Set': [
    [jwt({ jwks: { inline: keySet(65_536) } })],
    [
      [jwt({ jwks: { inline: '{' } }), `${AT}.jwks.inline: must have at least 2 characters`],
      [jwt({ jwks: { inline: keySet(65_537) } }), `${AT}.jwks.inline: must have at most 65536 characters`],
      [jwt({ jwks: { inline: '{}' } }), `${AT}.jwks.inline: `]
    ]
  ],
  'RemoteJWKS: jwksPath 1..2000, cacheDuration, backendRef required': [
    [jwt(remote({})), jwt(remote({ jwksPath: letters(2000), cacheDuration: '5m' }))],
    [
      [jwt(remote({ jwksPath: '' })), `${AT}.jwks.remote.jwksPath: must not be empty`],
      [jwt(remote({ jwksPath: letters(2001) })), `${AT}.jwks.remote.jwksPath: must have at most 2000 characters`],
      [jwt(remote({ jwksPath: undefined })), `${AT}.jwks.remote.jwksPath: is required`],
      [jwt(remote({ cacheDuration: 5 })), `${AT}.jwks.remote.cacheDuration: ${NO_DURATION}`],
      [jwt(remote({ host: undefined })), NO_SERVICE],
      [jwt(remote({ backendRef: { name: 'b' } })), `${NO_SERVICE}, not backendRef and host`],
      [jwt(remote({ host: undefined, backendRef: {} })), `${AT}.jwks.remote.backendRef.name: is required`],
      [
        jwt(remote({ host: undefined, backendRef: { name: 'b' } })),
        `${AT}.jwks.remote.backendRef.name: there is no backend "b" at the top of the file`
      ]
    ]
  ],
  'jwtAuth of the file: issuer, audiences, jwks.file': [
    [{ jwtAuth: provider({ audiences: ['a'] }) }],
    [[{ jwtAuth: provider({ jwks: { file: 'no-such-file' } }) }, 'jwtAuth.jwks.file: ']]
  ],
  'BasicAuthentication: exactly one of users, secretRef (and of what the file adds)': [
    [],
    [
      [{ basicAuthentication: {} }, 'basicAuthentication: must have exactly one of users, htpasswd, secretRef'],
      [
        basic({ htpasswd: users(1)[0] }),
        'basicAuthentication: must have exactly one of users, htpasswd, secretRef, not users and htpasswd'
      ],
      [
        { basicAuthentication: { secretRef: { name: 's' } } },
        "basicAuthentication.secretRef.name: there is no secret 's' in secrets"
      ]
    ]
  ],
  'BasicAuthentication.users: 1..256 lines of htpasswd, never raw passwords': [
    [basic({}), basic({ users: users(256) })],
    [
      [basic({ users: [] }), 'basicAuthentication.users: must have 1 to 256 entries'],
      [basic({ users: users(257) }), 'basicAuthentication.users: must have 1 to 256 entries'],
      [basic({ users: [...users(1), 'alice:wonderland'] }), 'basicAuthentication.users[1]: ']
    ]
  ],
  'BasicAuthentication: mode enum, realm string': [
    [basic({ mode: 'Strict' }), basic({ mode: 'Optional', realm: 'A "b"' }), basic({ realm: letters(256) })],
    [
      [basic({ mode: 'Permissive' }), 'basicAuthentication.mode: must be one of Strict, Optional'],
      [basic({ realm: letters(257) }), `basicAuthentication.realm: ${NAME_LONG}`],
      [basic({ realm: 5 }), 'basicAuthentication.realm: must be a text']
    ]
  ],
  'APIKeyAuthentication: exactly one of secretRef, secretSelector (and of what the file adds)': [
    [apiKey({ keys: [{ key: 'k' }] })],
    [
      [apiKey({}), 'apiKeyAuthentication: must have exactly one of keys, secretRef, secretSelector'],
      [apiKey({ secretRef: { name: 's' } }), "apiKeyAuthentication.secretRef.name: there is no secret 's' in secrets"],
      [
        apiKey({ secretSelector: { matchLabels: { a: 'b' } } }),
        'apiKeyAuthentication.secretSelector.matchLabels: no secret has all of these labels'
      ],
      [apiKey({ secretSelector: {} }), 'apiKeyAuthentication.secretSelector.matchLabels: is required'],
      [apiKey({ secretRef: {} }), 'apiKeyAuthentication.secretRef.name: is required']
    ]
  ],
  'APIKeyAuthentication.mode: enum': [
    [apiKey({ keys: [{ key: 'k' }], mode: 'Optional' }), apiKey({ keys: [{ key: 'k' }], mode: 'Strict' })],
    [
      [
        apiKey({ keys: [{ key: 'k' }], mode: 'Permissive' }),
        'apiKeyAuthentication.mode: must be one of Strict, Optional'
      ]
    ]
  ]
}

walk(AUTHENTICATION, ROUTE)
