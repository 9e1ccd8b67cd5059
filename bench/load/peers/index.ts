/** Every proxy that is measured, the reference first. */
import { envoy } from './envoy.ts'
import { litellm, portkey } from './gateways.ts'
import { haproxy } from './haproxy.ts'
import { nginx } from './nginx.ts'
import type { Peer } from './peer.ts'
import { weir, weirUws } from './weir.ts'

export const PEERS: readonly Peer[] = [nginx, haproxy, envoy, weir, weirUws, portkey, litellm]
