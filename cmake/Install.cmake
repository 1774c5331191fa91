# Installation: program, both libraries, headers, pkg-config and CMake package files, manual page, shell completion.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tidelake_program RUNTIME)
install(TARGETS tidelake_shared EXPORT tidelake LIBRARY NAMELINK_COMPONENT Development)
install(TARGETS tidelake_static EXPORT tidelake ARCHIVE)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/tidelake DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# pkg-config; `pkg-config --static` adds what libtidelake.a needs. The prefix is found from the file's own place, so that an
# installation can be moved, and `cmake --install --prefix` works.
file(RELATIVE_PATH TL_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
list(TRANSFORM TL_LIBRARY_NEEDS PREPEND "-l" OUTPUT_VARIABLE needs)
list(JOIN needs " " TL_LIBS_PRIVATE)
configure_file(${CMAKE_SOURCE_DIR}/cmake/tidelake.pc.in ${CMAKE_BINARY_DIR}/generated/tidelake.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/generated/tidelake.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package(tidelake): tidelake::tidelake and tidelake::tidelake_static.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tidelake)
install(EXPORT tidelake NAMESPACE tidelake:: FILE tidelakeConfig.cmake DESTINATION ${package_dir})
# Before 1.0 a minor version may break programs, as semantic versioning has it.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/tidelakeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/tidelakeConfigVersion.cmake DESTINATION ${package_dir})

# The manual page and the completion are printed by the program itself, from its table of commands.
set(man ${CMAKE_BINARY_DIR}/generated/tidelake.1)
set(completion ${CMAKE_BINARY_DIR}/generated/tidelake.bash)
add_custom_command(OUTPUT ${man} COMMAND tidelake_program help --man > ${man} DEPENDS tidelake_program VERBATIM)
add_custom_command(OUTPUT ${completion} COMMAND tidelake_program completion bash > ${completion} DEPENDS tidelake_program VERBATIM)
add_custom_target(tidelake_manual ALL DEPENDS ${man} ${completion})
install(FILES ${man} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tidelake)
