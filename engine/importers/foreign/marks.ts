/** Files of other programs, each by what only it has: a row names the program, and says what to do with its file. */
import { entriesOf, objectOf, type Path, type Raw } from '#engine/schema/placed.ts'

interface Mark {
  /** What people call the program. */
  readonly program: string
  /** What to do. FILE stands for the path. */
  readonly hint: string
}

/** `find`: where in the file it shows; null: it does not. */
export interface ValueMark extends Mark {
  readonly find: (value: Raw) => Path | null
}

/** `form`: shows in the text of what is no YAML of objects. */
export interface TextMark extends Mark {
  readonly form: RegExp
}

const OWN = 'ports, hosts and paths are binds[].listeners[].routes[] of a file of weir (docs/configuration.md)'
const MODELS = 'models of providers are llm.models of a file of weir (docs/configuration.md)'

/** The first of `keys` at the top; `test`: of its value. */
const key =
  (keys: readonly string[], test: (value: unknown) => boolean = () => true) =>
  (value: Raw): Path | null => {
    const found = keys.find((one) => Object.hasOwn(value, one) && test(value[one]))
    return found === undefined ? null : [found]
  }

const isMap = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const isList = (value: unknown): boolean => Array.isArray(value)
const hasAny = (names: readonly string[]) => (value: unknown) =>
  names.some((name) => Object.hasOwn(objectOf(value), name))
const isService = (value: unknown): boolean => hasAny(['image', 'build', 'extends'])(value)

export const VALUE_MARKS: readonly ValueMark[] = [
  {
    program: 'LiteLLM',
    hint: 'weir import litellm FILE -o weir.yaml makes a configuration of weir of it',
    find: (value) =>
      key(['model_list', 'litellm_settings', 'router_settings'])(value) ??
      key(['general_settings'], hasAny(['master_key', 'database_url']))(value)
  },
  { program: 'Envoy', hint: OWN, find: key(['static_resources', 'dynamic_resources']) },
  { program: 'Kong', hint: OWN, find: key(['_format_version']) },
  {
    program: 'docker compose',
    hint: 'give the file that it mounts into the gateway',
    find: key(['services'], (value) => isMap(value) && Object.values(objectOf(value)).some(isService))
  },
  { program: 'Caddy', hint: OWN, find: key(['apps'], hasAny(['http', 'tls'])) },
  {
    program: 'Traefik',
    hint: OWN,
    find: (value) =>
      key(['entryPoints'], isMap)(value) ?? key(['http', 'tcp'], hasAny(['routers', 'middlewares']))(value)
  },
  {
    program: 'Portkey',
    hint: MODELS,
    find: (value) =>
      Object.hasOwn(value, 'targets')
        ? key(['strategy'], hasAny(['mode']))(value)
        : key(['virtual_key', 'override_params'])(value)
  },
  {
    program: 'the OpenAPI Initiative (an API, no gateway)',
    hint: 'mcp.targets[].openapi.schema makes tools of it',
    find: key(['openapi', 'swagger'])
  },
  {
    program: 'Helm (values of a chart)',
    hint: 'give what helm template prints',
    find: (value) =>
      entriesOf([value.image], []).some(({ raw }) => Object.hasOwn(raw, 'repository')) && !isList(value.image)
        ? ['image']
        : null
  }
]

export const TEXT_MARKS: readonly TextMark[] = [
  { program: 'nginx', hint: OWN, form: /^[ \t]*(?:http|events|stream|server|upstream[ \t]+[\w.-]+)[ \t]*\{/m },
  {
    program: 'HAProxy',
    hint: OWN,
    form: /^(?:global|defaults|(?:frontend|backend|listen)[ \t]+[\w.-]+)[ \t]*(?:#.*)?\r?\n[ \t]+\S/m
  },
  { program: 'Traefik', hint: OWN, form: /^\[(?:entryPoints|http\.(?:routers|services|middlewares)|providers)[.\]]/m },
  {
    program: 'Caddy',
    hint: OWN,
    form: /^[^\s#{][^\n{]*\{[ \t]*\r?\n(?:[^\n]*\n)*?[ \t]+(?:reverse_proxy|respond|file_server|php_fastcgi|handle|encode|tls)\b/m
  },
  { program: 'Apache httpd', hint: OWN, form: /^[ \t]*<VirtualHost\b/m }
]
