export {
  CLUSTER_DOMAIN,
  endpointsOf,
  hostsForZone,
  type ServiceEndpoint,
  type ServiceEndpoints
} from './endpoints.ts'
export { ServiceIndex } from './service-index.ts'
