# Installs the unit of reprieved and what it needs. As the unit names files, it is written when the prefix is
# known: cpack installs below /usr what was configured for another one.
#
# Variables: written, a directory for what is written here; programs and documentation, below the prefix.

set(prefix ${CMAKE_INSTALL_PREFIX})
if(prefix STREQUAL /usr)
  set(settings /etc)
else()
  set(settings ${prefix}/etc)
endif()
cmake_path(ABSOLUTE_PATH programs BASE_DIRECTORY ${prefix})
cmake_path(ABSOLUTE_PATH documentation BASE_DIRECTORY ${prefix})

configure_file(${CMAKE_CURRENT_LIST_DIR}/reprieved.service.in ${written}/reprieved.service @ONLY)
file(INSTALL ${written}/reprieved.service DESTINATION ${prefix}/lib/systemd/system)
file(INSTALL ${CMAKE_CURRENT_LIST_DIR}/reprieve.sysusers DESTINATION ${prefix}/lib/sysusers.d
     RENAME reprieve.conf)
file(INSTALL ${CMAKE_CURRENT_LIST_DIR}/reprieve.tmpfiles DESTINATION ${prefix}/lib/tmpfiles.d
     RENAME reprieve.conf)
# Whoever installs again keeps the options that were set.
if(NOT EXISTS $ENV{DESTDIR}${settings}/default/reprieved)
  file(INSTALL ${CMAKE_CURRENT_LIST_DIR}/reprieved.default DESTINATION ${settings}/default RENAME reprieved)
endif()
