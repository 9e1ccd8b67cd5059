/** All tables of objects. */
import { authentications } from './authentication.ts'
import { backendPolicies } from './backend-policies.ts'
import { backends } from './backends.ts'
import type { Accepted, Refused, Table } from './case.ts'
import { frontends } from './frontend.ts'
import { models } from './models.ts'
import { parameters } from './parameters.ts'
import { services } from './services.ts'
import { targets } from './targets.ts'
import { requests } from './traffic.ts'

const TABLES: readonly Table[] = [
  targets,
  frontends,
  requests,
  services,
  authentications,
  backendPolicies,
  models,
  backends,
  parameters
]

export const ACCEPTED: readonly Accepted[] = TABLES.flatMap(({ accepted }) => accepted)
export const REFUSED: readonly Refused[] = TABLES.flatMap(({ refused }) => refused)
