export {
  CLUSTER_DOMAIN,
  endpointsOf,
  hostsForZone,
  type IdentityAt,
  type ServiceEndpoint,
  type ServiceEndpoints,
  withoutIdentities
} from './endpoints.ts'
export { ServiceIndex } from './service-index.ts'
